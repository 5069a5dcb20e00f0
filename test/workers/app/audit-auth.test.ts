import { createExecutionContext } from "cloudflare:test";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { NETWORK, ONE_PROCESS } from "../../../src/app/deployments.ts";
import worker from "../../../src/index.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { readServiceToken } from "../../../src/token/ids.ts";
import { knownToken } from "../../../src/tree/known-tokens.ts";
import { runAs } from "../../support/deployments.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { api, createOrganization, createTeam, generateToken } from "../../support/teams.ts";
import { evictTree, holdSweeps, locate } from "../../support/trees.ts";

/** Both kinds of deployment: where one process serves everything, the Worker answers in place of the tree when it can. */
const META = { run: "8123", repository: "acme/web" };
const MAKER = 'path "auth/token/*" { capabilities = ["create", "update", "read", "sudo"] }';

let root: string;
let lines: string[];

beforeAll(async () => {
  root = await initialized();
  await call("PUT", "sys/policies/acl/maker", { token: root, body: { policy: MAKER } });
});

beforeEach(holdSweeps);

beforeEach(() => {
  lines = [];
  vi.spyOn(console, "log").mockImplementation((line: unknown) => void lines.push(String(line)));
});

/**
 * The lines of what `work` asks for: type, path, the token of the caller, and what was issued. On a slow machine lines of other
 * types are among them: tidy, and that an object answers again.
 */
async function linesOf(work: () => Promise<unknown>) {
  lines = [];
  await work();
  return requestLines();
}

function requestLines(): Line[] {
  return lines.map((line) => JSON.parse(line) as Line).filter(({ type }) => type === "request" || type === "response");
}

interface Line {
  readonly type: string;
  readonly path: string;
  readonly status?: number;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly auth?: { readonly accessor: string; readonly metadata: unknown };
  readonly response?: { readonly auth?: unknown; readonly wrap_info?: unknown };
}

const maker = async (fields: Record<string, unknown> = {}) =>
  createToken(root, { policies: ["maker"], meta: META, display_name: "ci", ttl: "1h", ...fields });

/** What every line of a token of `maker` says about it. */
const described = (accessor: string, type = "service") => ({
  accessor,
  display_name: "token-ci",
  policies: ["default", "maker"],
  entity_id: "",
  token_type: type,
  metadata: META,
});

/** A read, a write on the caller's own tree, one elsewhere, and one that its policies refuse. */
async function use(token: string): Promise<void> {
  await call("GET", "auth/token/lookup-self", { token });
  await call("POST", "cubbyhole/x", { token, body: { a: "b" } });
  await call("POST", "auth/token/create-orphan", { token, body: { ttl: "1m" } });
  await call("PUT", "sys/policies/acl/x", { token, body: { policy: 'path "a" {}' } });
}

const USES = [
  ["response", "auth/token/lookup-self"],
  ["request", "cubbyhole/x"],
  ["response", "cubbyhole/x"],
  ["request", "auth/token/create-orphan"],
  ["response", "auth/token/create-orphan"],
  ["request", "sys/policies/acl/x"],
  ["response", "sys/policies/acl/x"],
];

describe.each([["on a network"], ["in one process"]])("the token of a request in the audit log, %s", (where) => {
  beforeAll(() => {
    if (where === "in one process") runAs(ONE_PROCESS);
  });
  afterAll(() => {
    runAs(NETWORK);
  });

  it("is in each line of a service token's request, before it acts and after", async () => {
    const { client_token, accessor } = await maker();
    const found = await linesOf(() => use(client_token));
    expect(found.map(({ type, path }) => [type, path])).toEqual(USES);
    expect(found.map(({ status }) => status).filter(Boolean)).toEqual([200, 204, 200, 403]);
    for (const line of found) expect(line.auth).toEqual(described(accessor));
  });

  it("is there for a token whose tree has to be read first, and for one that is cached", async () => {
    const { client_token, accessor } = await maker();
    await evictTree((await locate(client_token)).stub);
    const create = () => call("POST", "auth/token/create-orphan", { token: client_token, body: { ttl: "1m" } });
    const first = await linesOf(create);
    if (where === "in one process") await makeKnown(client_token);
    const second = await linesOf(create);
    for (const line of [...first, ...second]) expect(line.auth).toEqual(described(accessor));
    expect([first.length, second.length]).toEqual([2, 2]);
  });

  it("is in each line of a batch token's request", async () => {
    const { client_token } = await maker({ type: "batch" });
    const found = await linesOf(() => use(client_token));
    expect(found.map(({ type, path }) => [type, path])).toEqual(USES);
    for (const line of found) expect(line.auth).toEqual(described("", "batch"));
  });

  it("is in the line of the last use, and in none of a token that is spent or revoked", async () => {
    const spent = await maker({ num_uses: 1 });
    const write = (token: string) => () => call("POST", "cubbyhole/x", { token, body: { a: "b" } });
    const last = await linesOf(write(spent.client_token));
    expect(last.map(({ auth }) => auth)).toEqual([described(spent.accessor), described(spent.accessor)]);
    const refused = await linesOf(write(spent.client_token));
    // It could do nothing; what it tried is on record.
    expect(refused).toMatchObject([{ type: "response", status: 403 }]);
    const hash = expect.stringMatching(/^hmac-sha256:/);
    expect(Object.entries(refused[0]?.data ?? {})).toEqual([[hash, hash]]);
    expect(refused[0]).not.toHaveProperty("auth");
  });
});

/** Looks it up until the tree has made it known: what was written last has to be on disk first. */
async function makeKnown(token: string): Promise<void> {
  const installation = await loadInstallation(bindings);
  if (!installation.ok) throw new Error("initialised");
  const { keys, watermarks } = installation.value;
  const credential = await readServiceToken(keys, token);
  await vi.waitFor(async () => {
    await call("GET", "auth/token/lookup-self", { token });
    if (!credential || !knownToken(bindings.deployment.knownTokens, credential, watermarks, Date.now()))
      throw new Error("not yet");
  }, 60_000);
}

describe("what the audit log says of a new token", () => {
  const child = { policies: ["default"], meta: { job: "deploy" }, display_name: "child", ttl: "1m" };
  const ofChild = (accessor: unknown, type = "service") => ({
    accessor,
    display_name: "token-child",
    policies: ["default"],
    entity_id: "",
    token_type: type,
    metadata: { job: "deploy" },
  });

  it("is who made it, and what it is, both with their metadata", async () => {
    const { client_token, accessor } = await maker();
    let created = "";
    const [before, after] = await linesOf(async () => {
      created = (await call("POST", "auth/token/create", { token: client_token, body: child })).body.auth.accessor;
    });
    expect(before).toMatchObject({ type: "request", auth: described(accessor) });
    expect(before).not.toHaveProperty("response");
    expect(after?.auth).toEqual(described(accessor));
    expect(after?.response).toEqual({ auth: ofChild(created) });
    // The fields of the request stay hashed.
    expect(before?.data).toHaveProperty("meta");
    expect(JSON.stringify(before?.data)).not.toContain("job");
  });

  it("is the same when it is made elsewhere, as a batch token, or wrapped", async () => {
    const { client_token: token } = await maker();
    const last = () => requestLines().at(-1)?.response;
    const orphan = await call("POST", "auth/token/create-orphan", { token, body: child });
    expect(last()).toEqual({ auth: ofChild(orphan.body.auth.accessor) });
    await call("POST", "auth/token/create", { token, body: { ...child, type: "batch" } });
    const token_hash = expect.stringMatching(/^hmac-sha256:[0-9a-f]{64}$/);
    expect(last()).toEqual({ auth: { ...ofChild("", "batch"), token_hash } });
    const headers = { "X-Vault-Wrap-TTL": "60" };
    const { wrap_info } = (await call("POST", "auth/token/create", { token, body: child, headers })).body;
    const { accessor, wrapped_accessor } = wrap_info;
    expect(last()).toEqual({ auth: ofChild(wrapped_accessor), wrap_info: { accessor, wrapped_accessor } });
  });

  it("is nothing for a token that is renewed or looked up", async () => {
    const { client_token: token } = await maker();
    const found = await linesOf(async () => {
      await call("POST", "auth/token/renew-self", { token });
      await call("POST", "auth/token/renew", { token: root, body: { token } });
      await call("POST", "auth/token/lookup", { token: root, body: { token } });
    });
    for (const line of found) expect(line).not.toHaveProperty("response");
  });
});

describe("the other callers in the audit log", () => {
  it("are a wrapping token that unwraps itself, and one that is sent in the body", async () => {
    const headers = { "X-Vault-Wrap-TTL": "60" };
    const wrap = async () =>
      (await call("POST", "auth/token/create", { token: root, body: { ttl: "1h" }, headers })).body.wrap_info;
    const own = await wrap();
    const itself = await linesOf(() => call("POST", "sys/wrapping/unwrap", { token: own.token }));
    const wrapping = { accessor: own.accessor, policies: ["response-wrapping"], token_type: "service", metadata: {} };
    expect(itself).toMatchObject([{ auth: wrapping }, { status: 200, auth: wrapping }]);
    const { client_token, accessor } = await maker();
    const { token } = await wrap();
    const byOther = await linesOf(() => call("POST", "sys/wrapping/unwrap", { token: client_token, body: { token } }));
    expect(byOther.map(({ auth }) => auth)).toEqual([described(accessor), described(accessor)]);
  });

  it("are the token of a team, which has its team as metadata, also when it is new", async () => {
    const organization = await createOrganization(root, "metadata");
    const teamId = await createTeam(root, organization, "red");
    const metadata = { organization, team: "red", team_id: teamId };
    const [, generated] = await linesOf(async () => generateToken(root, teamId));
    expect(generated?.response?.auth).toMatchObject({ token_type: "team", display_name: "team-red", metadata });
    const { text, id } = await generateToken(root, teamId);
    const found = await linesOf(async () => {
      await api("GET", `teams/${teamId}`, { token: text });
      await call("POST", "cubbyhole/x", { token: text, body: { a: "b" } });
    });
    expect(found.map(({ type }) => type)).toEqual(["response", "request", "response"]);
    for (const line of found) expect(line.auth).toMatchObject({ accessor: id, token_type: "team", metadata });
  });

  it("are shown where a token is sent but not needed", async () => {
    const { client_token, accessor } = await maker();
    const found = await linesOf(() => call("GET", "sys/internal/ui/mounts", { token: client_token }));
    expect(found.map(({ auth }) => auth)).toEqual([described(accessor)]);
  });

  it("are there when the service fails by a fault of its own", async () => {
    const { client_token, accessor } = await maker({ policies: ["root"] });
    vi.spyOn(console, "error").mockImplementation(() => {});
    // An object that does not answer.
    const broken = { ...bindings, TOKEN_ROLES: undefined as unknown as typeof bindings.TOKEN_ROLES };
    const found = await linesOf(async () => {
      const headers = { "X-Vault-Token": client_token };
      const init = { method: "POST", headers, body: '{"orphan":true}' };
      const request = new Request("http://grove.test/v1/auth/token/roles/x", init);
      await worker.fetch(request, broken, createExecutionContext());
    });
    expect(found).toMatchObject([{ auth: { accessor, metadata: META } }, { status: 500, auth: { accessor } }]);
  });
});
