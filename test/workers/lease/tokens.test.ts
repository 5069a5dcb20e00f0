import { beforeAll, describe, expect, it } from "vitest";
import { tokenLeaseTail } from "../../../src/lease/ids.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { indexedPaths } from "../../support/leases.ts";
import { bindings, call, initialized, keysOf } from "../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

async function keys() {
  const loaded = await loadInstallation(bindings);
  if (!loaded.ok) throw new Error(loaded.error.code);
  return loaded.value.keys;
}

const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });
const status = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status;

async function create(fields: Record<string, unknown> = {}, endpoint = "create-orphan") {
  const { auth } = (await post(`auth/token/${endpoint}`, { policies: ["default"], ttl: "1h", ...fields })).body;
  const { path } = (await call("GET", "auth/token/lookup-self", { token: auth.client_token })).body.data;
  return {
    token: auth.client_token as string,
    accessor: auth.accessor as string,
    leaseId: `${path}/${await tokenLeaseTail(await keys(), auth.accessor)}`,
  };
}

describe("the lease of a token", () => {
  it("is the token's path and h and hex, from which neither token nor accessor can be made", async () => {
    const { token, accessor, leaseId } = await create();
    expect(leaseId).toMatch(/^auth\/token\/create-orphan\/h[0-9a-f]{110}$/);
    const ofAccessor = Buffer.from(accessor, "base64url").toString("hex");
    const place = leaseId.slice(-110, -32);
    expect(ofAccessor.startsWith(place)).toBe(true);
    expect(ofAccessor).not.toContain(leaseId.slice(-32));
    const tail = leaseId.slice(leaseId.lastIndexOf("/") + 2);
    const encoded = Buffer.from(tail, "hex").toString("base64url");
    for (const forged of [`s.${encoded}`, encoded, tail, `s.${tail}`]) expect(await status(forged)).toBe(403);
    expect(Buffer.from(token.slice(2), "base64url").subarray(39).equals(Buffer.from(tail, "hex").subarray(39))).toBe(
      false,
    );
  });

  it("is looked up, not renewed, and revokes everything below the token", async () => {
    const { token, leaseId } = await create({ policies: ["root"] });
    const below = (await call("POST", "auth/token/create", { token, body: { ttl: "10m" } })).body.auth.client_token;
    expect((await post("sys/leases/lookup", { lease_id: leaseId })).body.data).toEqual({
      id: leaseId,
      path: "auth/token/create-orphan",
      renewable: true,
      issue_time: expect.any(String),
      expire_time: expect.any(String),
      last_renewal: null,
      ttl: expect.any(Number),
    });
    expect((await post("sys/leases/renew", { lease_id: leaseId })).body.errors).toEqual([
      "tokens cannot be renewed through this endpoint",
    ]);
    expect((await post("sys/leases/revoke", { lease_id: leaseId })).status).toBe(204);
    expect([await status(token), await status(below)]).toEqual([403, 403]);
    expect((await post("sys/leases/lookup", { lease_id: leaseId })).body.errors).toEqual(["invalid lease"]);
    expect((await post("sys/leases/revoke", { lease_id: leaseId })).status).toBe(204);
  });

  it("shows a token that never ends without an end, and none for the first root token", async () => {
    const { leaseId } = await create({ policies: ["root"], ttl: "" });
    expect((await post("sys/leases/lookup", { lease_id: leaseId })).body.data).toMatchObject({
      expire_time: null,
      ttl: 0,
      renewable: false,
    });
    const { accessor } = (await call("GET", "auth/token/lookup-self", { token: root })).body.data;
    const ofRoot = `auth/token/root/${await tokenLeaseTail(await keys(), accessor)}`;
    expect((await post("sys/leases/lookup", { lease_id: ofRoot })).body.errors).toEqual(["invalid lease"]);
    expect((await post("sys/leases/revoke", { lease_id: ofRoot })).status).toBe(204);
    expect(await status(root)).toBe(200);
  });

  it("keeps one lease when its token is renewed, and a period bounds it", async () => {
    await post("auth/token/roles/periodic", { orphan: true, allowed_policies: "default" });
    const { token } = await create({ period: "1m", ttl: "" }, "create/periodic");
    await post("auth/token/roles/periodic", { token_period: "1m" });
    const renewed = await post("auth/token/renew", { token, increment: "1h" });
    expect(renewed.body.auth).toMatchObject({ client_token: token, lease_duration: 60 });
    expect((await indexedPaths("token")).filter((path) => path.endsWith("/periodic"))).toHaveLength(1);
  });

  it("is renewable while it ends some day and was not made otherwise", async () => {
    const renewable = async (fields: Record<string, unknown>) => {
      const { leaseId } = await create(fields);
      return (await post("sys/leases/lookup", { lease_id: leaseId })).body.data.renewable;
    };
    expect(await renewable({})).toBe(true);
    expect(await renewable({ renewable: false })).toBe(false);
    expect(await renewable({ policies: ["root"], ttl: "" })).toBe(false);
  });

  it("has one spelling: another path before the same tail is no lease", async () => {
    const { token, leaseId } = await create();
    const tail = leaseId.slice(leaseId.lastIndexOf("/") + 1);
    for (const other of [
      `auth/token/create/${tail}`,
      `x/${tail}`,
      tail,
      `auth/token/create-orphan/${tail.toUpperCase()}`,
    ]) {
      expect((await post("sys/leases/lookup", { lease_id: other })).body.errors).toEqual(["invalid lease"]);
      expect((await post("sys/leases/revoke", { lease_id: other })).status).toBe(204);
    }
    expect(await status(token)).toBe(200);
  });
});

describe("the accessor of a token", () => {
  it("leads to no lease: who may look leases up has no right to look accessors up", async () => {
    const { token, accessor } = await create();
    const hex = Buffer.from(accessor, "base64url").toString("hex");
    for (const tail of [`h${hex}`, `h${hex.slice(0, 110)}`, `h${hex.slice(0, 78)}${"0".repeat(32)}`, accessor]) {
      const lease_id = `auth/token/create-orphan/${tail}`;
      expect((await post("sys/leases/lookup", { lease_id })).body.errors).toEqual(["invalid lease"]);
      expect((await post("sys/leases/revoke", { lease_id })).status).toBe(204);
    }
    expect(await status(token)).toBe(200);
  });
});

describe("a lease that nobody has", () => {
  it.each([
    "unknown",
    "auth/token/create/habcdef",
    "db/creds/x/aaaa",
    "/",
    "a/",
    `a/${"A".repeat(84)}`,
    `${"x".repeat(2000)}/h00`,
  ])("%s: revoking is no error, renewing and looking up are", async (id) => {
    expect((await post("sys/leases/revoke", { lease_id: id })).status).toBe(204);
    expect(await post("sys/leases/renew", { lease_id: id })).toMatchObject({
      status: 400,
      body: { errors: ["lease not found"] },
    });
    expect(await post("sys/leases/lookup", { lease_id: id })).toMatchObject({
      status: 400,
      body: { errors: ["invalid lease"] },
    });
  });

  it("must be named, as a text", async () => {
    for (const path of ["sys/leases/lookup", "sys/leases/renew", "sys/leases/revoke"]) {
      expect((await post(path)).body.errors).toEqual(["lease_id must be specified"]);
      expect((await post(path, { lease_id: 7 })).body.errors).toEqual(["invalid lease ID"]);
      expect((await post(path, { lease_id: null })).body.errors).toEqual(["lease_id must be specified"]);
    }
  });

  it("has no older paths", async () => {
    for (const path of ["sys/renew", "sys/renew/x", "sys/revoke/x", "sys/revoke-prefix/x", "sys/revoke-force/x"]) {
      expect((await post(path)).status).toBe(404);
    }
  });
});

describe("the list of leases", () => {
  const list = async (path: string) => keysOf(await call("GET", `${path}?list=true`, { token: root }));

  it("shows one level, folders with a slash", async () => {
    await post("auth/token/roles/team.a", { path_suffix: "suffix" });
    await post("auth/token/roles/team", {});
    const plain = await create({}, "create");
    const role = await create({}, "create/team");
    const suffixed = await create({}, "create/team.a");
    expect(await list("sys/leases/lookup")).toEqual(["auth/"]);
    expect(await list("sys/leases/lookup/auth/token")).toEqual(["create-orphan/", "create/"]);
    const keys = await list("sys/leases/lookup/auth/token/create");
    expect(keys).toContain(plain.leaseId.slice("auth/token/create/".length));
    expect(keys.filter((key) => key.endsWith("/"))).toEqual(["periodic/", "team.a/", "team/"]);
    expect(await list("sys/leases/lookup/auth/token/create/team")).toEqual([role.leaseId.split("/").at(-1)]);
    expect(await list("sys/leases/lookup/auth/token/create/team.a")).toEqual(["suffix/"]);
    expect(await list("sys/leases/lookup/auth/token/create/team.a/suffix")).toEqual([
      suffixed.leaseId.split("/").at(-1),
    ]);
    const all: string[] = [...keys];
    for (let i = 0; i < 24; i++) all.push((await create({}, "create")).leaseId.slice("auth/token/create/".length));
    const paged: string[] = [];
    for (;;) {
      const query = `list=true&limit=3&after=${paged.at(-1) ?? ""}`;
      const page = await call("GET", `sys/leases/lookup/auth/token/create?${query}`, { token: root });
      if (page.status === 404) break;
      expect(page.body.data.keys.length).toBeLessThanOrEqual(3);
      paged.push(...page.body.data.keys);
    }
    expect(paged.toSorted()).toEqual(all.toSorted());
    expect(await call("GET", "sys/leases/lookup/none?list=true", { token: root })).toMatchObject({
      status: 404,
      body: { errors: [] },
    });
  });

  it("needs sudo", async () => {
    await post("sys/policies/acl/lister", { policy: 'path "sys/leases/*" { capabilities = ["list", "update"] }' });
    const { token } = await create({ policies: ["lister"] });
    for (const [method, path] of [
      ["GET", "sys/leases/lookup?list=true"],
      ["GET", "sys/leases/lookup/auth?list=true"],
      ["POST", "sys/leases/revoke-prefix/auth"],
      ["POST", "sys/leases/revoke-force/auth"],
    ] as const) {
      expect((await call(method, path, { token })).status, path).toBe(403);
    }
    expect((await call("POST", "sys/leases/tidy", { token })).status).toBe(202);
  });
});
