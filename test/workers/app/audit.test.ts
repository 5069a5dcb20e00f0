import { createExecutionContext } from "cloudflare:test";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ok } from "../../../src/base/result.ts";
import worker from "../../../src/index.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { atNth } from "../../support/calls.ts";
import { bindings, call, createToken, dataOf, initialized, keysOf } from "../../support/service.ts";
import { api, createOrganization, createTeam, generateToken } from "../../support/teams.ts";
import { holdSweeps } from "../../support/trees.ts";

let root: string;
let lines: string[];

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
});

beforeEach(() => {
  lines = [];
  for (const level of ["log", "error", "warn", "info", "debug"] as const) {
    vi.spyOn(console, level).mockImplementation((...args: unknown[]) => {
      lines.push(args.map(String).join(" "));
    });
  }
});

type Line = Record<string, unknown>;
/** The lines of requests. On a slow machine there are others between them: tidy, and that an object answers again. */
const parsed = () =>
  lines.map((line) => JSON.parse(line) as Line).filter(({ type }) => type === "request" || type === "response");
const HASH = expect.stringMatching(/^hmac-sha256:[0-9a-f]{64}$/);
const hashOf = async (input: string) =>
  (await call("POST", "sys/audit-hash/any", { token: root, body: { input } })).body.data.hash as string;

describe("the audit log", () => {
  it("has one line of a read: who, what, where, how it ended", async () => {
    const { client_token, accessor } = await createToken(root, { policies: ["default"], display_name: "ci" });
    lines = [];
    await call("GET", "auth/token/lookup-self", { token: client_token });
    await call("GET", "sys/policy/x", { token: client_token });
    await call("GET", "auth/token/lookup-self", { token: "s.unknown" });
    await call("GET", "sys/health");
    expect(parsed()).toMatchObject([
      {
        type: "response",
        via: "http",
        operation: "read",
        path: "auth/token/lookup-self",
        mount: "auth/token/",
        status: 200,
        duration_ms: expect.any(Number),
        auth: { accessor, display_name: "token-ci", entity_id: "", policies: ["default"] },
      },
      {
        operation: "read",
        path: "sys/policy/x",
        mount: "sys/",
        status: 403,
        error: "permission denied",
        auth: { accessor },
      },
      { status: 403 },
      { path: "sys/health", status: 200 },
    ]);
    const ids = parsed().map((line) => line.request_id);
    expect(new Set(ids).size).toBe(4);
    expect(parsed()[2]).not.toHaveProperty("auth");
    expect(parsed()[0]?.token_hash).toEqual(HASH);
  });

  it("has the id that each answer has in a header, with or without a body, in either dialect", async () => {
    const headers = { "X-Vault-Token": root };
    const metrics = () => new Request("http://grove.test/v1/sys/metrics?format=prometheus", { headers });
    const answers = [
      () => call("GET", "auth/token/lookup-self", { token: root }),
      () => call("GET", "auth/token/lookup-self", { token: root, headers: { "X-Vault-Wrap-TTL": "60" } }),
      () => call("PUT", "sys/policies/acl/with-id", { token: root, body: { policy: "" } }),
      () => call("POST", "auth/token/tidy", { token: root }),
      () => worker.fetch(metrics(), bindings, createExecutionContext()),
      () => call("GET", "identity/oidc/.well-known/keys"),
      () => call("GET", "auth/token/lookup-self", { token: "s.unknown" }),
      () => call("GET", "a//b"),
      () => api("GET", "ping", { token: root }),
      () => api("GET", "account/details", { token: root }),
      () => api("GET", "teams/none", { token: root }),
    ];
    for (const ask of answers) {
      lines = [];
      const { headers, status } = await ask();
      const id = headers.get("X-Request-Id");
      expect([status, id]).toEqual([status, parsed().at(-1)?.request_id]);
    }
    lines = [];
    const together = await Promise.all(answers.map((ask) => ask()));
    const ids = together.map(({ headers }) => headers.get("X-Request-Id"));
    expect(new Set(ids)).toEqual(new Set(parsed().map((line) => line.request_id)));
    expect(new Set(ids).size).toBe(answers.length);
  });

  it("has one line before a creation that generates another row, since the first one is taken", async () => {
    atNth(TokenTree, "run", 1, async (proceed) => {
      const answer = await proceed();
      return answer.ok ? ok({ ...answer.value, outcome: ok({ kind: "row_taken", above: 0 }) }) : answer;
    });
    expect((await call("POST", "auth/token/create", { token: root, body: {} })).status).toBe(200);
    expect(parsed().map(({ type }) => type)).toEqual(["request", "response"]);
  });

  it("has a line before whatever may change something, with its fields as keyed hashes, and one after", async () => {
    const body = { policies: ["default"], ttl: "1h", num_uses: 3, renewable: true, meta: { who: "me" } };
    const answer = await call("POST", "auth/token/create", { token: root, body });
    const [before, after] = parsed();
    expect(lines).toHaveLength(2);
    expect(before).toMatchObject({
      type: "request",
      request_id: answer.body.request_id,
      operation: "update",
      path: "auth/token/create",
      token_hash: HASH,
      data: {
        policies: [HASH],
        ttl: HASH,
        num_uses: 3,
        renewable: true,
        meta: { [await hashOf("who")]: HASH },
      },
    });
    expect(before).not.toHaveProperty("status");
    expect(after).toMatchObject({
      type: "response",
      request_id: before?.request_id,
      status: 200,
      auth: { display_name: "root" },
      response: { auth: { accessor: answer.body.auth.accessor, token_type: "service", policies: ["default"] } },
    });
    expect(after).not.toHaveProperty("data");
    expect(before?.data).toMatchObject({ ttl: await hashOf("1h") });
  });

  it("shows the fields that a mount names as they are", async () => {
    const tune = { audit_non_hmac_request_keys: ["display_name"] };
    await call("POST", "sys/auth/token/tune", { token: root, body: tune });
    lines = [];
    await createToken(root, { display_name: "ci", ttl: "1h" });
    expect(parsed()[0]).toMatchObject({ data: { display_name: "ci", ttl: HASH } });
    await call("POST", "sys/auth/token/tune", { token: root, body: { audit_non_hmac_request_keys: [] } });
  });

  it("has no name that the endpoint does not define: a secret that was sent without the name of its field is one", async () => {
    await call("POST", "sys/auth/pasted", { token: root, body: { type: "jwt" } });
    await call("POST", "sys/auth/named", { token: root, body: { type: "aws" } });
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    const secret = "Pasted-Without.Its-Field";
    lines = [];
    for (const raw of [secret, `${secret}=`, `role=ci&${secret}`]) {
      await call("POST", "auth/pasted/login", { raw, headers: form });
      await call("POST", "sys/policies/acl/pasted", { token: root, raw, headers: form });
      await call("POST", "cubbyhole/pasted", { token: root, raw, headers: form });
      await call("POST", "nothing/here", { token: root, raw, headers: form });
    }
    for (const body of [{ [secret]: 1 }, { meta: { [secret]: { [secret]: [{ [secret]: true }] } } }]) {
      await call("POST", "auth/token/create", { token: root, body });
      await call("PUT", "auth/pasted/login", { body });
      await call("POST", "auth/token/lookup", { token: root, body });
    }
    await call("GET", `sys/tokens?${secret}=1`, { token: root, headers: { "X-Vault-Wrap-TTL": "60" } });
    await call("GET", `auth/token/lookup-self?${secret}`, { token: root });
    expect(parsed().length).toBeGreaterThan(30);
    expect(lines.join("\n")).not.toContain(secret);
    expect(lines.join("\n")).toContain(await hashOf(secret));
    lines = [];
    await call("POST", "auth/named/role/r", { token: root, body: { bound_ami_id: "ami-1", bound_image_id: "x" } });
    const names = Object.keys((parsed()[0] as { data: Record<string, unknown> }).data);
    expect(names).toEqual(["bound_ami_id", await hashOf("bound_image_id")]);
  });

  it("is short, whatever a client without a token sends", async () => {
    await call("POST", "sys/auth/flooded", { token: root, body: { type: "jwt" } });
    const tune = { audit_non_hmac_request_keys: ["role"] };
    await call("POST", "sys/auth/flooded/tune", { token: root, body: tune });
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    const controls = "\u0001".repeat(2 ** 20 - 5);
    const many = Array.from({ length: 1000 }, (_, at) => `${at}`);
    for (const [raw, headers] of [
      [controls, form],
      [`role=${controls}`, form],
      [many.join("&"), form],
      [JSON.stringify({ role: many }), {}],
      [JSON.stringify({ other: Array.from({ length: 19_000 }, () => 1e20) }), {}],
      [`${"[".repeat(60)}${"]".repeat(60)}`, {}],
    ] as const) {
      lines = [];
      const answer = await call("POST", "auth/flooded/login", { raw, headers });
      expect(answer.status).toBe(400);
      expect(lines.join("\n").length).toBeLessThan(20_000);
    }
  });

  it("has an address of a length that an address can have", async () => {
    await call("GET", "auth/token/lookup-self", { headers: { "CF-Connecting-IP": "x".repeat(10_000) } });
    expect(parsed()[0]?.client_address).toBe("x".repeat(64));
  });

  it("has the line before the act also when the act fails, and none before what nobody may ask", async () => {
    await call("POST", "auth/token/create", { token: root, body: { type: "nonsense" } });
    expect(parsed().map(({ type, status }) => [type, status])).toEqual([
      ["request", undefined],
      ["response", 400],
    ]);
    lines = [];
    await call("POST", "auth/token/create", { token: "s.forged", body: { meta: { a: "b" } } });
    await call("POST", "auth/token/create", { body: { meta: { a: "b" } } });
    expect(parsed().map(({ type, status, data }) => [type, status, data])).toEqual([
      ["response", 403, undefined],
      ["response", 403, undefined],
    ]);
  });

  it("names the token that a request was about", async () => {
    const { client_token, accessor } = await createToken(root, { ttl: "1h", policies: ["default"] });
    lines = [];
    await call("POST", "auth/token/lookup-accessor", { token: root, body: { accessor } });
    await call("POST", "auth/token/renew", { token: root, body: { token: client_token } });
    await call("POST", "auth/token/renew-self", { token: client_token });
    await call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor } });
    const answers = parsed().filter(({ type }) => type === "response");
    expect(answers.map(({ path, target_accessor }) => [path, target_accessor])).toEqual([
      ["auth/token/lookup-accessor", accessor],
      ["auth/token/renew", accessor],
      // Its own.
      ["auth/token/renew-self", undefined],
      ["auth/token/revoke-accessor", accessor],
    ]);
    for (const line of answers) expect(line).not.toHaveProperty("response");
  });

  it("names the token that a lease was of, or was given to", async () => {
    vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response(null, { status: 204 }));
    const listed = async () =>
      keysOf(await call("GET", "sys/leases/lookup/auth/token/create?list=true", { token: root }));
    const before = new Set(await listed());
    const { client_token, accessor } = await createToken(root, { ttl: "1h", policies: ["default"] });
    const ids = (await listed()).filter((id) => !before.has(id));
    const leases = await Promise.all(
      ids.map((id) => call("PUT", "sys/leases/lookup", { token: root, body: { lease_id: `auth/token/create/${id}` } })),
    );
    expect(leases.map(({ status }) => status)).not.toContain(400);
    expect(parsed().map((line) => line.target_accessor)).toContain(accessor);

    lines = [];
    const registration = { accessor, path: "db/creds/x", ttl: "1m", target: "https://engine.example.com/revoke" };
    const registered = await call("POST", "sys/leases/register", { token: root, body: registration });
    expect(registered.status).toBe(200);
    expect(parsed().at(-1)).toMatchObject({ path: "sys/leases/register", target_accessor: accessor });
    const byToken = { ...registration, accessor: undefined, token: client_token };
    const { lease_id: lease } = (await call("POST", "sys/leases/register", { token: root, body: byToken })).body;
    expect(parsed().at(-1)).toMatchObject({ path: "sys/leases/register", target_accessor: accessor });
    for (const path of ["sys/leases/renew", "sys/leases/revoke"]) {
      expect((await call("PUT", path, { token: root, body: { lease_id: lease } })).status).toBeLessThan(300);
      expect(parsed().at(-1)).toMatchObject({ path, holder_accessor: accessor });
      expect(parsed().at(-1)).not.toHaveProperty("target_accessor");
    }
    const found = await call("GET", `sys/audit/events?accessor=${accessor}`, { token: root });
    const { events } = dataOf<{ events: { path: string }[] }>(found);
    const asked = events.map(({ path }) => path).filter((path) => path.startsWith("sys/leases/"));
    expect(asked).toEqual(["revoke", "renew", "register", "register"].map((what) => `sys/leases/${what}`));
    lines = [];
    for (const id of ids) {
      await call("PUT", "sys/leases/revoke", { token: root, body: { lease_id: `auth/token/create/${id}` } });
    }
    expect(parsed().map((line) => line.target_accessor)).toContain(accessor);
    expect((await call("GET", "auth/token/lookup-self", { token: client_token })).status).toBe(403);
  });

  it("names what a revocation of many was asked for, and its numbers, and keeps the values of its filter hashed", async () => {
    const made = { ttl: "1h", policies: ["root"], no_parent: true, display_name: "leaked" };
    const { client_token } = await createToken(root, made);
    await createToken(client_token, { ttl: "1h" });
    const filter = { display_name: "token-leaked", include_root: true };
    lines = [];
    await call("POST", "sys/tokens/revoke", { token: root, body: filter });
    const fields = ["display_name", "include_root"];
    expect(parsed().at(-1)?.revocation).toEqual({ dry_run: true, fields, count: 1, total: 2 });
    const real = { ...filter, dry_run: false, expected_count: 1, expected_total: 1 };
    expect((await call("POST", "sys/tokens/revoke", { token: root, body: real })).status).toBe(400);
    expect(parsed().at(-1)).toMatchObject({ status: 400, revocation: { dry_run: false, count: 1, total: 2 } });
    const { job } = (await call("POST", "sys/tokens/revoke", { token: root, body: { ...real, expected_total: 2 } }))
      .body.data;
    expect(parsed().at(-1)?.revocation).toEqual({ dry_run: false, fields, count: 1, total: 2, job });
    expect(lines.join()).not.toContain("token-leaked");
    await expect
      .poll(async () => (await call("GET", `sys/tokens/jobs/${job}`, { token: root })).body.data.state)
      .toBe("done");
  });

  it("names every token of teams that one request deletes, and none when it deletes none", async () => {
    const organization = await createOrganization(root, "audited");
    const ids: string[] = [];
    for (const name of ["one", "two"]) {
      ids.push((await generateToken(root, await createTeam(root, organization, name))).id);
    }
    const remove = (all: readonly string[]) =>
      api("DELETE", `organizations/${organization}/team-tokens`, {
        token: root,
        body: { data: all.map((id) => ({ type: "authentication-tokens", id })) },
      });
    lines = [];
    expect((await remove([...ids, "at-unknown"])).status).toBe(422);
    expect((await remove(ids)).status).toBe(204);
    const answers = parsed().filter(({ type }) => type === "response");
    expect(answers.map(({ target_accessors }) => target_accessors)).toEqual([undefined, ids]);
  });

  it("names a credential without an accessor by its hash, and a wrapped token by both accessors", async () => {
    const batch = await createToken(root, { type: "batch", ttl: "1h", policies: ["default"] });
    const headers = { "X-Vault-Wrap-TTL": "60" };
    const wrapped = await call("POST", "auth/token/create", { token: root, body: { ttl: "1h" }, headers });
    const wrappedRead = await call("GET", "auth/token/lookup-self", { token: root, headers });
    const found = parsed();
    expect(found.map(({ type }) => type)).toEqual([
      "request",
      "response",
      "request",
      "response",
      "request",
      "response",
    ]);
    const ofBatch = await hashOf(batch.client_token);
    expect(found[1]).toMatchObject({ response: { auth: { accessor: "", token_type: "batch", token_hash: ofBatch } } });
    const { accessor, wrapped_accessor } = wrapped.body.wrap_info;
    expect(found[3]).toMatchObject({ response: { wrap_info: { accessor, wrapped_accessor } } });
    expect(found[5]?.response).toEqual({ wrap_info: { accessor: wrappedRead.body.wrap_info.accessor } });
  });

  it("has what is refused before it is read", async () => {
    await call("POST", "auth/token/create", { token: root, raw: "{" });
    await call("GET", "auth/token/lookup-self?list=maybe", { token: root });
    await call("POST", "auth/token/create/", { token: root });
    expect(parsed().map(({ type, status, operation }) => [type, status, operation])).toEqual([
      ["response", 400, "update"],
      ["response", 400, "unknown"],
      ["response", 400, "update"],
    ]);
  });

  it("has the requests to an installation without its seal key", async () => {
    const sealed = { ...bindings, GROVE_SEAL_KEY: "" };
    const request = new Request("http://grove.test/v1/sys/policies/acl", { headers: { "X-Vault-Token": root } });
    const answer = await worker.fetch(request, sealed, createExecutionContext());
    expect(answer.status).toBe(503);
    expect(parsed()).toMatchObject([{ type: "response", status: 503, path: "sys/policies/acl" }]);
    expect(lines.join()).not.toContain(root);
  });

  it("has all lines of a request whose client disconnected: the work continues", async () => {
    const begun: Promise<unknown>[] = [];
    const ctx = createExecutionContext();
    vi.spyOn(ctx, "waitUntil").mockImplementation((work) => void begun.push(work));
    const init = { method: "PUT", headers: { "X-Vault-Token": root }, body: '{"policy":"path \\"a\\" {}"}' };
    const request = new Request("http://grove.test/v1/sys/policies/acl/left", init);
    // Nobody waits for the answer.
    void worker.fetch(request, bindings, ctx);
    expect(begun).toHaveLength(1);
    await Promise.all(begun);
    expect(parsed().map(({ type }) => type)).toEqual(["request", "response"]);
    expect((await call("GET", "sys/policies/acl/left", { token: root })).status).toBe(200);
  });

  it("gives the same token the same hash and another one another", async () => {
    const { client_token } = await createToken(root);
    lines = [];
    await call("GET", "auth/token/lookup-self", { token: client_token });
    await call("GET", "auth/token/lookup-self", { token: client_token });
    await call("GET", "auth/token/lookup-self", { token: root });
    const [a, b, c] = parsed().map((line) => line.token_hash);
    expect(a).toBe(b);
    expect(a).not.toBe(c);
  });

  it("has of a path that no endpoint serves the words of the interface and the mount, and nothing else", async () => {
    await call("POST", "sys/auth/prod", { token: root, body: { type: "aws" } });
    lines = [];
    for (const [method, path] of [
      ["GET", "sys/wrapping/unwrap/chosen-by-root"],
      ["GET", "auth/prod/chosen-by-root/login"],
      ["GET", "auth/gone/login"],
      ["GET", "nope/a/b"],
      ["POST", "auth/prod/login"],
      ["POST", "sys/policies/acl/mine"],
      ["GET", "sys/policies/acl/mine"],
    ] as const) {
      await call(method, path, { token: root, ...(method === "POST" && { raw: "{" }) });
    }
    expect(parsed().map(({ path, status }) => [path, status])).toEqual([
      ["sys/wrapping/unwrap/<unknown>", 404],
      ["auth/prod/<unknown>/login", 404],
      ["auth/<unknown>/login", 404],
      ["<unknown>", 404],
      ["auth/prod/login", 400],
      ["sys/policies/acl/<unknown>", 400],
      ["sys/policies/acl/mine", 404],
    ]);
  });

  it("has no token that was sent in the place of a name, though the answer names it", async () => {
    await call("POST", "auth/token/roles/narrow", { token: root, body: { allowed_policies: ["default"] } });
    // A generated token that ends with "-" is not the name of a role.
    let sent = root;
    while (sent.endsWith("-")) sent = (await createToken(root)).client_token;
    lines = [];
    const made = await call("POST", "auth/token/create", { token: root, body: { role_name: sent } });
    expect(made.body.errors).toEqual([`unknown role ${sent}`]);
    await call("POST", `auth/token/create/${sent}`, { token: root, body: {} });
    await call("POST", "auth/token/create/narrow", { token: root, body: { policies: [sent] } });
    const errors = parsed().flatMap(({ error }) => (error === undefined ? [] : [error]));
    expect(errors).toEqual(["unknown role <value>", "unknown role <token>", expect.stringContaining('"<value>"])')]);
    expect(lines.join().toLowerCase()).not.toContain(sent.toLowerCase());
  });

  it("has no token that root chose in the place of a field with a name, and the hash of a role that does not exist", async () => {
    const id = (await createToken(root, { id: "chosen-as-a-role" })).client_token;
    await call("POST", "sys/auth/signed", { token: root, body: { type: "aws" } });
    const role = { auth_type: "ec2", bound_account_id: "111111111111" };
    await call("POST", "auth/signed/role/web", { token: root, body: role });
    lines = [];
    for (const name of [id, "web"]) await call("POST", "auth/signed/login", { body: { role: name, pkcs7: "x" } });
    await call("POST", "auth/token/create", { token: root, body: { role_name: id } });
    await call("POST", "sys/remount", { token: root, body: { from: `auth/${id}`, to: "auth/there" } });
    const [unknown, known] = parsed().filter(({ type, path }) => type === "response" && path === "auth/signed/login");
    expect(unknown).toMatchObject({ error: 'entry for role "<value>" not found' });
    expect(parsed()[0]?.data).toMatchObject({ role: unknown?.role });
    expect(known).toMatchObject({ role: "web" });
    expect(lines.join("\n")).not.toContain(id);
  });

  it("never holds a secret: not of a header, a body, a URL or an answer", async () => {
    const secrets: string[] = [root];
    const { client_token, accessor } = await createToken(root, { ttl: "1h" });
    const batch = (await createToken(root, { type: "batch", ttl: "1h", policies: ["default"] })).client_token;
    const custom = (await createToken(root, { id: "chosen-by-root-1" })).client_token;
    secrets.push(client_token, batch, custom);
    const token = root;
    for (const secret of [client_token, batch, custom]) {
      for (const path of ["lookup", "renew", "revoke-orphan"]) {
        await call("POST", `auth/token/${path}`, { token, body: { token: secret } });
        await call("POST", `auth/token/${path}/${secret}`, { token });
        await call("GET", `auth/token/${path}/${secret}`, { token: client_token });
      }
      // Paths that no endpoint serves: the form of a token that root chose does not distinguish it from a name.
      for (const path of [
        secret,
        `nope/${secret}/x`,
        `v1/auth/token/lookup/${secret}`,
        `sys/wrapping/unwrap/${secret}`,
      ]) {
        await call("GET", path);
        await call("POST", path, { token });
        await call("DELETE", path, { token });
        await call("GET", `${path}?help=1`, { token });
      }
      await call("POST", `auth/token/create/${secret}/${secret}`, { token, raw: "{" });
      await call("PATCH", `sys/wrapping/lookup/${secret}`, { token });
      await call("GET", "auth/token/lookup-self", { token: secret });
      await call("POST", "auth/token/create", { token, raw: `{"id": "${secret}` });
      // Requests that are refused before they are read all the way.
      await call("POST", `auth/token/renew/${secret}`, { token, raw: "{" });
      await call("POST", `auth/token/revoke-orphan/${secret}/`, { token });
      await call("POST", `/auth/token/renew/${secret}`, { token });
      await call("GET", `auth/token/lookup/${secret.replace(".", "%2e")}?list=maybe`, { token });
    }
    await call("POST", "cubbyhole/x", { token, body: { password: "swordfish" } });
    await call("GET", "cubbyhole/x", { token });
    await call("POST", "sys/policies/acl/p", { token, body: { policy: 'path "swordfish" {' } });
    await call("POST", "auth/token/lookup-accessor", { token, body: { accessor } });
    expect(lines.length).toBeGreaterThan(40);
    const log = lines.join("\n");
    for (const secret of [...secrets, "swordfish"]) expect(log).not.toContain(secret);
  });
});
