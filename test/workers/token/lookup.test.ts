import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { call, createToken, initialized } from "../../support/service.ts";
import { holdSweeps, locate } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
});

afterEach(() => vi.useRealTimers());

const create = async (body: object) => (await call("POST", "auth/token/create", { token: root, body })).body.auth;

describe("look-up", () => {
  it("the first root token shows exactly these keys", async () => {
    const { body } = await call("GET", "auth/token/lookup-self", { token: root });
    expect(Object.keys(body.data)).toEqual(
      "accessor creation_time creation_ttl display_name entity_id expire_time explicit_max_ttl id meta num_uses orphan path policies ttl type".split(
        " ",
      ),
    );
    expect(body.data).toMatchObject({ id: root, meta: null, expire_time: null, orphan: true, creation_ttl: 0 });
  });

  it("a child shows its lease, a periodic one its period, a batch token its type", async () => {
    const self = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).body.data;
    const child = await self((await create({ policies: ["foo"], ttl: 3600 })).client_token);
    expect(child).toMatchObject({ policies: ["default", "foo"], renewable: true, creation_ttl: 3600, type: "service" });
    expect(Number(child.ttl)).toBeGreaterThanOrEqual(3598);
    expect(Date.parse(child.expire_time ?? "") - Date.parse(child.issue_time ?? "")).toBe(3_600_000);
    expect(await self((await create({ policies: ["foo"], period: "1h" })).client_token)).toMatchObject({
      period: 3600,
    });
    const batch = await self((await create({ policies: ["foo"], type: "batch", ttl: "1h" })).client_token);
    expect(batch).toMatchObject({ renewable: false, type: "batch", accessor: "", orphan: false });
    const orphan = await self((await create({ policies: ["foo"], no_parent: true, type: "batch" })).client_token);
    expect(orphan).toMatchObject({ type: "batch", orphan: true });
  });

  it("what is left and the last renewal are in whole seconds that have passed", async () => {
    const second = 1000 * Math.floor(Date.now() / 1000);
    vi.useFakeTimers({ toFake: ["Date"], now: second });
    const { client_token: token } = await create({ policies: ["default"], ttl: "1m" });
    vi.setSystemTime(second + 1500);
    const before = (await call("GET", "auth/token/lookup-self", { token })).body.data;
    expect([before.ttl, "last_renewal" in before, "last_renewal_time" in before]).toEqual([58, false, false]);
    await call("POST", "auth/token/renew-self", { token });
    const after = (await call("GET", "auth/token/lookup-self", { token })).body.data;
    expect([after.ttl, after.last_renewal_time]).toEqual([60, second / 1000 + 1]);
    expect(Date.parse(String(after.last_renewal))).toBe(second + 1500);
  });

  it("every way to look up gives the same, but by accessor without the token", async () => {
    const { client_token, accessor } = await create({ policies: ["foo"], ttl: "1h" });
    const ways = await Promise.all([
      call("GET", "auth/token/lookup-self", { token: client_token }),
      call("POST", "auth/token/lookup", { token: root, body: { token: client_token } }),
      call("GET", `auth/token/lookup?token=${client_token}`, { token: root }),
      call("POST", "auth/token/lookup-accessor", { token: root, body: { accessor } }),
    ]);
    // `default` gives reading only; the POST form of lookup-self needs update.
    const [self, post, get, byAccessor] = ways.map(({ body }) => ({ ...(body.data as object), ttl: 0 }));
    expect(post).toEqual(self);
    expect(get).toEqual(self);
    expect(byAccessor).toEqual({ ...self, id: "" });
  });

  it("returns the token as it was sent; without one it looks up the caller", async () => {
    for (const body of [{}, { token: null }]) {
      expect((await call("POST", "auth/token/lookup", { token: root, body })).body.data.id).toBe(root);
    }
    const self = await call("POST", "auth/token/lookup-self", { token: root, body: { token: "ignored" } });
    expect([self.status, self.body.data.id, self.body.warnings]).toEqual([200, root, null]);
  });

  it.each([[5], [{ a: 1 }], [["x"]]])("a token that is not a text (%j) is a 403", async (token) => {
    for (const path of ["lookup", "renew", "revoke", "revoke-orphan"]) {
      const answer = await call("POST", `auth/token/${path}`, { token: root, body: { token } });
      expect([path, answer.status, answer.body.errors]).toEqual([path, 403, ["invalid token"]]);
    }
  });

  it("a missing token or accessor is named", async () => {
    for (const [path, message] of [
      ["renew", "missing token ID"],
      ["revoke", "missing token ID"],
      ["revoke-orphan", "missing token ID"],
      ["lookup-accessor", "missing accessor"],
      ["renew-accessor", "missing accessor"],
      ["revoke-accessor", "missing accessor"],
    ]) {
      const answer = await call("POST", `auth/token/${path}`, { token: root, body: {} });
      expect([path, answer.status, answer.body.errors]).toEqual([path, 400, [message]]);
    }
  });

  it("revoking by accessor twice: the second answer is one warning", async () => {
    const { accessor } = await create({ policies: ["foo"], ttl: "1h" });
    const revoke = () => call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor } });
    expect((await revoke()).status).toBe(204);
    const again = await revoke();
    expect([again.status, again.body.data, again.body.warnings]).toEqual([
      200,
      null,
      ["No token found with this accessor"],
    ]);
  });

  it("CVE-2026-40264: an accessor of another installation, or a changed one, reaches nothing", async () => {
    const { accessor, client_token } = await create({ policies: ["foo"], ttl: "1h" });
    const { treeId } = await locate(client_token);
    const changed = `${accessor.slice(0, -1)}${accessor.endsWith("A") ? "B" : "A"}`;
    const foreign = Buffer.concat([Buffer.from(treeId, "hex"), Buffer.alloc(31, 7)]).toString("base64url");
    for (const bad of [changed, foreign, accessor.slice(1), `${accessor}A`]) {
      for (const path of ["lookup-accessor", "renew-accessor"]) {
        const answer = await call("POST", `auth/token/${path}`, { token: root, body: { accessor: bad } });
        expect([answer.status, answer.body.errors]).toEqual([400, ["invalid accessor"]]);
      }
      await call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor: bad } });
    }
    expect((await call("GET", "auth/token/lookup-self", { token: client_token })).status).toBe(200);
  });
});

describe("endpoints that are not there", () => {
  it("CVE-2025-52894, CVE-2026-5807: nothing about unsealing keys answers without a token", async () => {
    for (const path of [
      "sys/rekey/init",
      "sys/rekey/update",
      "sys/generate-root/attempt",
      "sys/generate-root/update",
    ]) {
      for (const method of ["GET", "POST", "DELETE"]) expect((await call(method, path)).status).toBe(403);
    }
    for (const path of ["sys/rekey/init", "sys/rekey/update"]) {
      expect((await call("POST", path, { token: root, body: {} })).status).toBe(404);
    }
  });

  it("CVE-2026-45808: the older paths of leases are gone", async () => {
    for (const path of ["sys/renew/x", "sys/revoke/x", "sys/revoke-prefix/x", "sys/revoke-force/x"]) {
      const answer = await call("POST", path, { token: root, body: {} });
      expect([answer.status, answer.body.errors]).toEqual([404, ["unsupported path"]]);
    }
  });

  it("CVE-2025-54997: no audit device can be made over the API", async () => {
    const made = await call("POST", "sys/audit/file", {
      token: root,
      body: { type: "file", options: { path: "/tmp/x" } },
    });
    expect([made.status, made.body.errors]).toEqual([
      400,
      ["cannot enable audit device via API; use declarative, config-based audit device management instead"],
    ]);
    const { client_token } = await createToken(root, { policies: ["default"] });
    expect((await call("GET", "sys/audit", { token: client_token })).status).toBe(403);
    expect((await call("GET", "sys/audit", { token: root })).status).toBe(200);
    const hash = await call("POST", "sys/audit-hash/any", { token: root, body: { input: client_token } });
    expect(hash.body.data.hash).toMatch(/^hmac-sha256:[0-9a-f]{64}$/);
  });

  it("a query of a list reaches the handler, without the word that asked for a list", async () => {
    const answer = await call("GET", "auth/token/accessors?list=true&limit=1", { token: root });
    expect(answer.body.data.keys).toHaveLength(1);
    expect(answer.body.warnings).toBeNull();
  });
});
