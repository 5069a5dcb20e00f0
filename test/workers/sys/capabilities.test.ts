import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { call, createToken, initialized } from "../../support/service.ts";

let root: string;
let caller: Awaited<ReturnType<typeof createToken>>;

const PATHS = ["sys/mounts", "kv/a", "kv/a/", "kv/closed", "else"];

beforeAll(async () => {
  root = await initialized();
  await call("POST", "sys/policies/acl/mixed", {
    token: root,
    body: {
      policy: `
        path "sys/mounts" { capabilities = ["update", "sudo", "create"] }
        path "kv/a" { capabilities = ["list"] allowed_parameters = { "x" = ["y"] } min_wrapping_ttl = "1m" }
        path "kv/*" { capabilities = ["read"] }
        path "kv/closed" { capabilities = ["deny"] }
        path "sys/capabilities*" { capabilities = ["update"] }`,
    },
  });
  caller = await createToken(root, { policies: ["mixed"] });
});

const expected = {
  "sys/mounts": ["create", "sudo", "update"],
  "kv/a": ["list"],
  // Judged as a listing: the exact rule without the slash comes before the longer prefix.
  "kv/a/": ["list"],
  "kv/closed": ["deny"],
  else: ["deny"],
};

describe("capabilities", () => {
  it("are the same by self, by token and by accessor, and repeated beside the envelope", async () => {
    const token = caller.client_token;
    const answers = [
      await call("POST", "sys/capabilities-self", { token, body: { paths: PATHS } }),
      await call("POST", "sys/capabilities", { token: root, body: { token, paths: PATHS } }),
      await call("POST", "sys/capabilities", { token, body: { token, paths: PATHS } }),
      await call("POST", "sys/capabilities-accessor", {
        token: root,
        body: { accessor: caller.accessor, paths: PATHS },
      }),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(body.data).toEqual(expected);
      expect(body).toMatchObject(expected);
    }
  });

  it("of root are root, also for a path that nobody could be granted", async () => {
    const { body } = await call("POST", "sys/capabilities-self", { token: root, body: { paths: ["a", "a/../b"] } });
    expect(body.data).toEqual({ a: ["root"], "a/../b": ["root"] });
  });

  it("of one path come once more as capabilities, also through the older name and as text", async () => {
    for (const body of [{ paths: "kv/a" }, { path: "kv/a" }, { paths: ["kv/a"], path: "else" }]) {
      const answer = await call("POST", "sys/capabilities-self", { token: caller.client_token, body });
      expect(answer.body.data).toEqual({ "kv/a": ["list"], capabilities: ["list"] });
      expect(answer.body.capabilities).toEqual(["list"]);
    }
  });

  it("of a batch token are known from its text, and end with it", async () => {
    const made = await call("POST", "auth/token/create", {
      token: root,
      body: { type: "batch", policies: ["mixed"], ttl: "1h" },
    });
    const orphan = made.body.auth.client_token;
    const answer = await call("POST", "sys/capabilities", { token: root, body: { token: orphan, paths: PATHS } });
    expect(answer.body.data).toEqual(expected);
    const body = { type: "batch" };
    await call("POST", "sys/policies/acl/mixed2", {
      token: root,
      body: { policy: 'path "auth/token/create" { capabilities = ["update"] }' },
    });
    const maker = await createToken(root, { policies: ["mixed", "mixed2"] });
    const below = await call("POST", "auth/token/create", { token: maker.client_token, body });
    await call("POST", "auth/token/revoke", { token: root, body: { token: maker.client_token } });
    const ended = await call("POST", "sys/capabilities", {
      token: root,
      body: { token: below.body.auth.client_token, paths: PATHS },
    });
    expect([ended.status, ended.body.errors]).toEqual([400, ["invalid token"]]);
  });

  it("keys that mean something to the envelope or to objects are ordinary paths", async () => {
    const paths = ["request_id", "__proto__", "data"];
    const { body } = await call("POST", "sys/capabilities-self", { token: caller.client_token, body: { paths } });
    expect(Object.entries(body.data).sort()).toEqual([
      ["__proto__", ["deny"]],
      ["data", ["deny"]],
      ["request_id", ["deny"]],
    ]);
    expect(body.request_id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ["sys/capabilities-self", {}, "paths must be supplied"],
    ["sys/capabilities-self", { paths: "" }, "paths must be supplied"],
    ["sys/capabilities-self", { paths: ["x".repeat(2049)] }, "a path is too long"],
    [
      "sys/capabilities-self",
      { paths: ",".repeat(300_000) },
      'Field validation failed: error converting input for field "paths": expected a list of at most 1000 strings',
    ],
    ["sys/capabilities", { paths: ["a"] }, "no token found"],
    ["sys/capabilities", { token: "s.unknown", paths: ["a"] }, "invalid token"],
    ["sys/capabilities", { token: 7, paths: ["a"] }, "invalid token"],
    ["sys/capabilities-accessor", { paths: ["a"] }, "missing accessor"],
    ["sys/capabilities-accessor", { accessor: "unknown", paths: ["a"] }, "invalid accessor"],
  ])("%s refuses %.60j", async (path, body, message) => {
    const answer = await call("POST", path, { token: caller.client_token, body });
    expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
  });

  it("of others are only shown to callers whose policies allow it", async () => {
    const plain = await createToken(root, { policies: ["default"] });
    for (const [path, body] of [
      ["sys/capabilities", { token: root, paths: ["a"] }],
      ["sys/capabilities-accessor", { accessor: caller.accessor, paths: ["a"] }],
    ] as const) {
      expect((await call("POST", path, { token: plain.client_token, body })).status).toBe(403);
      expect((await call("POST", path, { body })).status).toBe(403);
    }
  });

  it("of a policy that is not stored are those of its text alone, and a mistake has its place", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    onTestFinished(() => void vi.useRealTimers());
    const dated = `kv/of/${Math.floor(Date.now() / 1000)}`;
    const policy = `
      path "kv/*" { capabilities = ["read"] } path "own/{{identity.entity.id}}" { capabilities = ["read"] }
      path "kv/of/{{time.now}}" { capabilities = ["list"] }`;
    const ask = (text: string) =>
      call("POST", "sys/capabilities-policy", {
        token: caller.client_token,
        body: {
          policy: text,
          paths: ["kv/b", "kv/closed", dated, "own/{{identity.entity.id}}", "sys/capabilities-self"],
        },
      });
    expect((await ask(policy)).body.data).toEqual({
      "kv/b": ["read"],
      "kv/closed": ["read"],
      [dated]: ["list"],
      "own/{{identity.entity.id}}": ["deny"],
      "sys/capabilities-self": ["deny"],
    });
    const mistaken = await ask('path "kv/*" { capabilities = ["red"] }');
    expect(mistaken.status).toBe(400);
    expect(mistaken.body.errors[0]).toMatch(/^failed to parse policy: .*line 1, column 31/);
    const empty = await ask("");
    expect([empty.status, empty.body.errors]).toEqual([400, ["'policy' parameter not supplied or empty"]]);
    const plain = await createToken(root, { policies: ["default"] });
    const refused = await call("POST", "sys/capabilities-policy", {
      token: plain.client_token,
      body: { policy, paths: ["kv/b"] },
    });
    expect(refused.status).toBe(403);
  });

  it("of a token without any policy are all denied", async () => {
    const bare = await createToken(root, { policies: ["nothing"], no_default_policy: true });
    const { body } = await call("POST", "sys/capabilities", {
      token: root,
      body: { token: bare.client_token, paths: ["auth/token/lookup-self"] },
    });
    expect(body.data["auth/token/lookup-self"]).toEqual(["deny"]);
  });
});
