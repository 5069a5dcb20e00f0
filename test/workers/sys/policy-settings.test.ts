import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, createToken, initialized, keysOf } from "../../support/service.ts";
import { holdSweeps } from "../../support/trees.ts";

const ACL = "sys/policies/acl";
const TEXT = 'path "sys/policies/acl/*" { capabilities = ["read"] }';
const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };
let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
});

afterEach(() => vi.useRealTimers());

const write = (name: string, fields: Record<string, unknown> = {}) =>
  call("POST", `${ACL}/${name}`, { token: root, body: { policy: TEXT, ...fields } });
const patch = (name: string, body: Record<string, unknown>) =>
  call("PATCH", `${ACL}/${name}`, { token: root, body, headers: MERGE_PATCH });
const read = (name: string) => call("GET", `${ACL}/${name}`, { token: root });
const list = (path: string, query = "", token = root) => call("GET", `${path}?list=true${query}`, { token });
const refusal = ({ status, body }: { status: number; body: unknown }) => [
  status,
  (body as { errors: string[] }).errors,
];

describe("check and set", () => {
  it("a new policy is version 1, for a writer that knows there is none", async () => {
    expect(refusal(await write("cas", { cas: 3 }))).toEqual([
      400,
      ["check-and-set parameter did not match the current version"],
    ]);
    expect((await write("cas", { cas: -1, cas_required: true })).status).toBe(204);
    expect((await read("cas")).body.data).toMatchObject({ version: 1, cas_required: true });
  });

  it("creates with cas 0 or null as with -1, at both paths and of a deletion; a stored policy has no version 0", async () => {
    for (const [at, cas] of [
      [ACL, 0],
      [ACL, null],
      [ACL, -1],
      ["sys/policy", 0],
      ["sys/policy", null],
    ] as const) {
      const name = `${at}/first${String(cas)}-${at.length}`;
      const made = await call("POST", name, { token: root, body: { policy: TEXT, cas } });
      expect([name, made.status]).toEqual([name, 204]);
      const again = await call("POST", name, { token: root, body: { policy: TEXT, cas: 0 } });
      expect(refusal(again)).toEqual([400, ["check-and-set parameter did not match the current version"]]);
      expect((await call("DELETE", `${name}?cas=0`, { token: root })).status).toBe(400);
      expect((await call("GET", name, { token: root })).body.data.version).toBe(1);
    }
    expect((await call("DELETE", `${ACL}/never?cas=0`, { token: root })).status).toBe(204);
  });

  it("of writers that have seen one version one wins, and later ones must say what they have seen", async () => {
    await write("race", { cas_required: true, cas: -1 });
    const answers = await Promise.all(Array.from({ length: 8 }, () => write("race", { cas: 1, cas_required: true })));
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(refusal(await write("race"))).toEqual([400, ["check-and-set parameter required for this call"]]);
    expect(refusal(await write("race", { cas: -1 }))).toEqual([
      400,
      ["check-and-set parameter set to -1 on existing entry"],
    ]);
    expect((await read("race")).body.data.version).toBe(2);
    expect((await write("race", { cas: 2 })).status).toBe(204);
    expect((await read("race")).body.data).toMatchObject({ version: 3, cas_required: false });
  });

  it("also at the older path", async () => {
    const body = { policy: TEXT, cas: 7 };
    expect((await call("POST", "sys/policy/older", { token: root, body })).status).toBe(400);
    const made = await call("POST", "sys/policy/older", { token: root, body: { rules: TEXT, cas: -1 } });
    expect([made.status, made.body.warnings]).toEqual([200, ["'rules' is deprecated, please use 'policy' instead"]]);
    expect((await call("GET", "sys/policy/older", { token: root })).body).toMatchObject({ version: 1, rules: TEXT });
  });

  it("a deletion takes only the version that was seen, when it says which", async () => {
    const remove = (query: string) => call("DELETE", `${ACL}/leaving${query}`, { token: root });
    await write("leaving");
    await write("leaving");
    expect(refusal(await remove("?cas=1"))).toEqual([
      400,
      ["check-and-set parameter did not match the current version"],
    ]);
    expect((await read("leaving")).body.data.version).toBe(2);
    expect((await remove("?cas=two")).status).toBe(400);
    const answers = await Promise.all([remove("?cas=2"), write("leaving", { cas: 2 })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 400]);
    expect((await remove("")).status).toBe(204);
    expect((await remove("")).status).toBe(204);
    expect((await remove("?cas=1")).status).toBe(400);
    expect((await read("leaving")).status).toBe(404);
  });

  it("a failed write changes nothing", async () => {
    await write("kept", { cas_required: true, cas: -1, ttl: "1h" });
    const before = (await read("kept")).body.data;
    await write("kept", { cas: 9, policy: 'path "x" {}' });
    await write("kept", { policy: 'path "x" {}' });
    await patch("kept", { cas: 9, policy: 'path "x" {}' });
    expect((await read("kept")).body.data).toEqual(before);
  });
});

describe("expiration", () => {
  it("is shown, and after it the policy is gone and grants nothing", async () => {
    await write("brief", { ttl: "90s" });
    const { client_token: token } = await createToken(root, { policies: ["brief"], ttl: "1h" });
    const allowed = async () => (await call("GET", `${ACL}/default`, { token })).status;
    const { expiration } = (await read("brief")).body.data;
    const end = Date.parse(expiration ?? "");
    expect(await allowed()).toBe(200);
    vi.useFakeTimers({ toFake: ["Date"], now: end });
    expect([(await read("brief")).status, await allowed()]).toEqual([200, 200]);
    vi.setSystemTime(end + 1);
    expect([(await read("brief")).status, await allowed()]).toEqual([404, 403]);
    expect((await list(ACL)).body.data.keys).not.toContain("brief");
    expect((await list("sys/policies/detailed/acl")).body.data.keys).not.toContain("brief");
    const made = await call("POST", "auth/token/create", { token: root, body: { policies: ["brief"] } });
    expect(made.body.warnings).toEqual(['Policy "brief" does not exist']);
    expect(refusal(await patch("brief", { ttl: "1h" }))).toEqual([400, ["policy not found"]]);
  });

  it("leaves no trace: a new policy of the same name has nothing of it", async () => {
    await write("again", { ttl: "10s", cas_required: true, cas: -1 });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 11_000 });
    await write("unrelated");
    const stored = await rowsOf(bindings.SYSTEM.getByName("system"), "policies");
    expect(stored.map(({ name }) => name)).toContain("unrelated");
    expect(stored.map(({ name }) => name)).not.toContain("again");
    expect((await write("again", { cas: -1 })).status).toBe(204);
    expect((await read("again")).body.data).toMatchObject({ version: 1, cas_required: false });
  });

  it("of a block and of its policy: the earlier one holds", async () => {
    const soon = Math.floor(Date.now() / 1000) + 60;
    await write("blocks", {
      policy: `
        path "sys/policies/acl/default" { capabilities = ["read"] expiration = "${soon}" }
        path "sys/policies/acl/root" { capabilities = ["read"] expiration = "${soon + 3600}" }`,
      expiration: String(soon + 60),
    });
    const { client_token: token } = await createToken(root, { policies: ["blocks"], ttl: "2h" });
    const both = async () => [
      (await call("GET", `${ACL}/default`, { token })).status,
      (await call("GET", `${ACL}/root`, { token })).status,
    ];
    expect(await both()).toEqual([200, 200]);
    vi.useFakeTimers({ toFake: ["Date"], now: (soon + 1) * 1000 });
    expect(await both()).toEqual([403, 200]);
    vi.setSystemTime((soon + 61) * 1000);
    expect(await both()).toEqual([403, 403]);
  });

  it("is taken away by a write without one, and kept by a patch without one", async () => {
    await write("moving", { expiration: "2099-01-01T00:00:00Z" });
    expect((await read("moving")).body.data.expiration).toBe("2099-01-01T00:00:00.000Z");
    await patch("moving", { policy: 'path "y" {}' });
    expect((await read("moving")).body.data.expiration).toBe("2099-01-01T00:00:00.000Z");
    await patch("moving", { ttl: 0 });
    expect((await read("moving")).body.data).not.toHaveProperty("expiration");
    await patch("moving", { ttl: "1h" });
    await write("moving");
    expect((await read("moving")).body.data).not.toHaveProperty("expiration");
  });

  it.each([
    [{ expiration: "2099-01-01T00:00:00Z", ttl: "1h" }, "cannot supply both 'expiration' and 'ttl' for policies"],
    [{ expiration: "2001-01-01T00:00:00Z" }, "refusing to update policy as expiration time has already elapsed"],
    [{ ttl: "-1s" }, "refusing to update policy as expiration time has already elapsed"],
    [{ expiration: "soon" }, "invalid expiration time: neither RFC 3339 nor seconds since 1970"],
    [{ ttl: "soon" }, "ttl is not a duration"],
  ])("refuses %j", async (fields, message) => {
    expect(refusal(await write("never", fields))).toEqual([400, [message]]);
    expect((await read("never")).status).toBe(404);
    await write("patched");
    expect(refusal(await patch("patched", fields))).toEqual([400, [message]]);
  });
});

describe("PATCH", () => {
  it("changes what it names, and counts as a write", async () => {
    await write("part", { allow_slashes_in_identity_templates: true });
    const patched = await patch("part", { cas_required: true });
    expect([patched.status, patched.body.data, patched.body.warnings]).toEqual([200, null, null]);
    expect((await read("part")).body.data).toMatchObject({
      policy: TEXT,
      version: 2,
      cas_required: true,
      allow_slashes_in_identity_templates: true,
      allow_wildcards_in_identity_templates: false,
    });
    // Without a version the write applies to the stored one.
    expect((await patch("part", { policy: 'path "z" {}' })).status).toBe(200);
    expect((await patch("part", { policy: TEXT, cas: 3 })).status).toBe(200);
    expect((await patch("part", { policy: TEXT, cas: 3 })).status).toBe(400);
    expect((await read("part")).body.data).toMatchObject({ policy: TEXT, version: 4 });
  });

  it("needs the capability patch, and holds at once", async () => {
    await write("patcher", {
      policy: `path "${ACL}/*" { capabilities = ["patch"] }`,
    });
    await write("updater", { policy: `path "${ACL}/*" { capabilities = ["create", "update"] }` });
    const { client_token: may } = await createToken(root, { policies: ["patcher"] });
    const { client_token: mayNot } = await createToken(root, { policies: ["updater"] });
    const body = { policy: `path "${ACL}/*" { capabilities = ["patch", "read"] }` };
    const send = (token: string) => call("PATCH", `${ACL}/Patcher`, { token, body, headers: MERGE_PATCH });
    expect((await send(mayNot)).status).toBe(403);
    const sent = await send(may);
    expect([sent.status, sent.body.warnings]).toEqual([200, ["policy name was converted to patcher"]]);
    expect((await call("GET", `${ACL}/default`, { token: may })).status).toBe(200);
  });

  it.each([
    ["missing", { ttl: "1h" }, "policy not found"],
    ["root", { policy: TEXT }, 'cannot update "root" policy'],
    ["Response-Wrapping", { policy: TEXT }, 'cannot update "response-wrapping" policy'],
  ])("of %s is refused", async (name, body, message) => {
    expect(refusal(await patch(name, body))).toEqual([400, [message]]);
  });

  it("415: a body that does not say that it is a merge patch", async () => {
    for (const type of ["application/json", "text/plain", ""]) {
      const answer = await call("PATCH", `${ACL}/default`, {
        token: root,
        body: {},
        headers: { "Content-Type": type },
      });
      expect(refusal(answer)).toEqual([415, ["PATCH requires Content-Type of application/merge-patch+json"]]);
    }
  });
});

describe("detailed lists", () => {
  it("hold every policy as it is read, root too, and follow pages", async () => {
    await write("detail/a", { ttl: "1h" });
    await write("detail/b");
    const below = (await list("sys/policies/detailed/acl/detail")).body.data;
    expect(below.keys).toEqual(["detail/a", "detail/b"]);
    expect(below.key_info).toEqual({
      "detail/a": (await read("detail/a")).body.data,
      "detail/b": (await read("detail/b")).body.data,
    });
    const all = (await list("sys/policies/detailed/acl")).body.data;
    expect(all.keys).toEqual((await list(ACL)).body.data.keys);
    expect(all.key_info?.root).toMatchObject({ policy: "", version: 0 });
    const page = (await list("sys/policies/detailed/acl", "&after=default&limit=1")).body.data;
    expect([page.keys?.length, Object.keys(page.key_info ?? {})]).toEqual([1, page.keys]);
    expect((await list("sys/policies/detailed/acl/nothing")).status).toBe(404);
  });
});

describe("GHSA-59w7: values that reach further", () => {
  it("insert nothing until both flags of the policy allow it", async () => {
    await call("POST", "auth/token/roles/person", {
      token: root,
      body: { allowed_entity_aliases: "*", allowed_policies: "templated,default" },
    });
    const policy = 'path "kv/{{identity.entity.metadata.area}}/x" { capabilities = ["read"] }';
    const set = (slashes: boolean, wildcards: boolean) =>
      write("templated", {
        policy,
        allow_slashes_in_identity_templates: slashes,
        allow_wildcards_in_identity_templates: wildcards,
      });
    await set(false, false);
    const made = await call("POST", "auth/token/create/person", {
      token: root,
      body: { entity_alias: "area", policies: ["templated"] },
    });
    const { client_token: token, entity_id: entity } = made.body.auth;
    await call("POST", `identity/entity/id/${entity}`, { token: root, body: { metadata: { area: "metadata/+" } } });
    const may = async () => {
      const body = { paths: "kv/metadata/any/x" };
      return (await call("POST", "sys/capabilities-self", { token, body })).body.capabilities;
    };
    for (const [slashes, wildcards, expected] of [
      [false, false, "deny"],
      [true, false, "deny"],
      [false, true, "deny"],
      [true, true, "read"],
      [false, false, "deny"],
    ] as const) {
      await set(slashes, wildcards);
      expect([slashes, wildcards, await may()]).toEqual([slashes, wildcards, [expected]]);
    }
  });
});

describe("GH-3518: pages", () => {
  const names = Array.from({ length: 12 }, (_, i) => `paged/${String(i).padStart(2, "0")}`);
  const limited = { a: "", b: "pagination_limit = 10", c: 'required_parameters = ["limit"]', d: "" };
  const tokens: Record<string, string> = {};

  beforeAll(async () => {
    for (const name of names) await write(name);
    limited.d = `${limited.b} ${limited.c}`;
    for (const [name, rule] of Object.entries(limited)) {
      await write(`lister-${name}`, { policy: `path "${ACL}/paged" { capabilities = ["list"] ${rule} }` });
      tokens[name] = (await createToken(root, { policies: [`lister-${name}`] })).client_token;
    }
  });

  it.each([
    ["a", "", 12],
    ["a", "&limit=3", 3],
    ["a", "&limit=0", 12],
    ["a", "&limit=max", 12],
    ["b", "", 10],
    ["b", "&limit=3", 3],
    ["b", "&limit=10", 10],
    ["b", "&limit=11", 403],
    ["b", "&limit=max", 10],
    ["b", "&limit=0", 10],
    ["b", "&limit=-1", 403],
    ["b", "&limit=many", 403],
    ["c", "", 12],
    ["d", "", 403],
    ["d", "&limit=4", 4],
    ["d", "&limit=max", 10],
  ])("a list under rule %s with %j", async (rule, query, expected) => {
    const { status, body } = await list(`${ACL}/paged`, query, tokens[rule]);
    expect(status === 200 ? body.data.keys?.length : status).toBe(expected);
  });

  it("the next page begins after the last name, also when that is gone", async () => {
    const first = keysOf(await list(`${ACL}/paged`, "", tokens.b));
    const last = first.at(-1) ?? "";
    await call("DELETE", `${ACL}/${last}`, { token: root });
    const second = (await list(`${ACL}/paged`, `&after=${last}`, tokens.b)).body.data.keys;
    expect(second).toEqual(names.slice(10));
  });
});
