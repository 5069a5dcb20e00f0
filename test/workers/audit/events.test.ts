import { beforeAll, describe, expect, it, vi } from "vitest";
import { FIRST_PAGE, forgetAuditObjects, writeLineageCursor } from "../../../src/audit/search.ts";
import { MAX_IN_FULL } from "../../../src/audit/writer/refusal-bound.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { append, batchOf } from "../../support/audit-store.ts";
import { failing } from "../../support/calls.ts";
import { bindings, call, createToken, dataOf, initialized, tokenUnder } from "../../support/service.ts";

interface Event {
  readonly kind: string;
  readonly path: string;
  readonly request_id: string;
  readonly status: number;
  readonly client_address: string | null;
  readonly principal?: string;
  readonly target_accessor?: string;
  readonly target_entities?: readonly string[];
  readonly check?: { readonly name: string; readonly description: string };
  readonly auth?: { readonly accessor: string; readonly entity_id: string };
  readonly response?: { readonly auth?: { readonly accessor: string } };
}
interface Made {
  readonly accessor: string;
  readonly made_by: string | null;
  readonly depth?: number;
}
interface Found {
  readonly events: readonly Event[];
  readonly next: string;
  readonly kept_days: number;
  readonly accessor?: string;
  readonly makers?: readonly Made[];
  readonly below?: readonly Made[];
  readonly complete?: boolean;
  readonly uses?: readonly { readonly address: string | null; readonly count: number }[];
  readonly more_uses?: boolean;
  readonly attempts?: readonly Event[];
  readonly ended?: { readonly how: string; readonly cause: string; readonly request_id: string };
}

let root: string;
beforeAll(async () => {
  root = await initialized();
});

async function ask(fields: Record<string, unknown>, token = root): Promise<Found> {
  const answer = await call("POST", "sys/audit/events", { token, body: fields });
  if (answer.status !== 200) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return dataOf<Found>(answer);
}

const RULES = 'path "secret" { capabilities = ["read"] }';
const headers = { "CF-Connecting-IP": "192.0.2.9" };

describe("a leaked token", () => {
  it("shows its newest uses, and whether there are more", async () => {
    const hour = 3_600_000 * Math.floor(Date.now() / 3_600_000);
    const usesOf = (accessor: string, count: number) =>
      Array.from({ length: count }, (_, at) => {
        return { accessor, address: `192.0.2.${at}`, hour, count: 1, first: hour, last: hour + at };
      });
    await append("15/1", batchOf([], { uses: [...usesOf("everywhere", 201), ...usesOf("here", 200)] }));
    forgetAuditObjects();
    const [many, few] = [await ask({ accessor: "everywhere" }), await ask({ accessor: "here" })];
    expect([many.uses?.length, many.uses?.at(-1)?.address, many.more_uses]).toEqual([200, "192.0.2.1", true]);
    expect([few.uses?.length, few.more_uses]).toEqual([200, false]);
  });

  it("alive or dead, shows who made it, what it did, from where, and its descendants", async () => {
    const ci = await createToken(root, { display_name: "ci", policies: ["root"] });
    const child = await createToken(ci.client_token, { policies: ["root"] });
    const grandchild = await createToken(child.client_token, { no_parent: true });
    await call("GET", "auth/token/lookup-self", { token: child.client_token, headers });
    await call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor: child.accessor } });
    const tried = await call("GET", "auth/token/lookup-self", { token: child.client_token, headers });
    expect(tried.status).toBe(403);

    const found = await ask({ token: child.client_token, lineage: true, order: "oldest" });
    expect(found.accessor).toBe(child.accessor);
    expect(found.events.map(({ path }) => path)).toEqual([
      "auth/token/create",
      "auth/token/create",
      "auth/token/revoke-accessor",
    ]);
    expect(found.uses).toEqual([expect.objectContaining({ address: "192.0.2.9", count: 1 })]);
    expect(found.attempts).toEqual([expect.objectContaining({ path: "auth/token/lookup-self", status: 403 })]);
    // By the accessor the text is not known, but a request that the token made has its keyed hash.
    expect((await ask({ accessor: child.accessor })).attempts).toEqual(found.attempts);
    expect(found.makers?.slice(0, 2).map(({ accessor }) => accessor)).toEqual([child.accessor, ci.accessor]);
    expect(found.below).toEqual([
      expect.objectContaining({ accessor: grandchild.accessor, made_by: child.accessor, depth: 1 }),
    ]);
    expect(found.complete).toBe(true);
    const places = writeLineageCursor([{ accessor: ci.accessor, cursor: FIRST_PAGE }]) ?? "";
    const next = await ask({ accessor: ci.accessor, lineage: true, below_after: places });
    expect(next.below?.map(({ accessor }) => accessor)).toEqual([child.accessor, grandchild.accessor]);
    expect([next.events, next.complete]).toEqual([[], true]);
    expect((await ask({ accessor: child.accessor, order: "oldest" })).events).toEqual(found.events);
    expect((await ask({ actor: child.accessor })).events).toHaveLength(1);
  });

  it("that a login made shows the mount, the role and the principal of the login", async () => {
    const post = (path: string, body: Record<string, unknown> = {}) => call("POST", path, { token: root, body });
    await post("sys/auth/apps", { type: "approle" });
    await post("auth/apps/role/staff", { token_policies: "default" });
    const { role_id } = dataOf<{ role_id: string }>(await call("GET", "auth/apps/role/staff/role-id", { token: root }));
    const { secret_id } = dataOf<{ secret_id: string }>(await post("auth/apps/role/staff/secret-id"));
    const login = await call("POST", "auth/apps/login", { body: { role_id, secret_id } });
    const found = await ask({ token: login.body.auth.client_token, lineage: true });
    const [event] = found.events;
    expect(event?.principal).toBeTruthy();
    expect(found.makers).toEqual([
      expect.objectContaining({ made_by: null, mount: "auth/apps/", role: "staff", principal: event?.principal }),
    ]);
  });

  it("that is a batch token is found by its text, and below its maker", async () => {
    const maker = await createToken(root, { policies: ["root"] });
    const rules = 'path "sys/policies/acl/by-batch" { capabilities = ["create", "update"] }';
    await call("PUT", "sys/policies/acl/batch", { token: root, body: { policy: rules } });
    const batch = await createToken(maker.client_token, { type: "batch", policies: ["batch"] });
    await call("PUT", "sys/policies/acl/by-batch", { token: batch.client_token, body: { policy: RULES } });
    const found = await ask({ token: batch.client_token, order: "oldest" });
    expect(found.events.map(({ path }) => path)).toEqual(["auth/token/create", "sys/policies/acl/by-batch"]);
    expect((await ask({ accessor: maker.accessor, lineage: true })).below).toHaveLength(1);
  });
});

describe("a role", () => {
  it("shows its changes in whatever case a request wrote its name", async () => {
    const post = (path: string, body: Record<string, unknown> = {}) => call("POST", path, { token: root, body });
    await post("sys/auth/robots", { type: "approle" });
    await post("auth/robots/role/deploy", { token_policies: "default" });
    await post("auth/robots/role/DEPLOY", { token_policies: "admin" });
    const { role_id } = dataOf<{ role_id: string }>(
      await call("GET", "auth/robots/role/deploy/role-id", { token: root }),
    );
    const { secret_id } = dataOf<{ secret_id: string }>(await post("auth/robots/role/Deploy/secret-id"));
    await call("POST", "auth/robots/login", { body: { role_id, secret_id } });
    for (const role of ["deploy", "dePLOY"]) {
      const found = await ask({ mount: "auth/robots/", role, order: "oldest" });
      expect(found.events.map(({ path }) => path.slice("auth/robots/".length))).toEqual([
        ...["role/deploy", "role/DEPLOY", "role/Deploy/secret-id", "login"],
      ]);
    }
  });
});

describe("a role of tokens", () => {
  it("shows the tokens that were made by it, also where the body names it", async () => {
    await call("POST", "auth/token/roles/jobs", { token: root, body: { orphan: true } });
    await call("POST", "auth/token/create", { token: root, body: { role_name: "jobs" } });
    await call("POST", "auth/token/create/jobs", { token: root, body: {} });
    const found = await ask({ mount: "auth/token/", role: "jobs", order: "oldest" });
    expect(found.events.map(({ path }) => path)).toEqual([
      ...["auth/token/roles/jobs", "auth/token/create", "auth/token/create/jobs"],
    ]);
  });
});

describe("a person who has left", () => {
  /** What a request of an operator, or of the person, was and what came of it. */
  const summary = ({ kind, path, status }: Event) => [kind, path.replace(/[0-9a-f-]{36}/, "ID"), status];

  it("has in the events of the entity what ended its use, and all that was refused for that", async () => {
    const post = (path: string, body: Record<string, unknown> = {}) => call("POST", path, { token: root, body });
    await post("sys/auth/staff", { type: "approle" });
    await post("auth/staff/role/people", { token_policies: "default" });
    const { role_id } = dataOf<{ role_id: string }>(
      await call("GET", "auth/staff/role/people/role-id", { token: root }),
    );
    const { secret_id } = dataOf<{ secret_id: string }>(await post("auth/staff/role/people/secret-id"));
    const login = () => call("POST", "auth/staff/login", { body: { role_id, secret_id } });
    const { client_token: text, accessor, entity_id: id } = (await login()).body.auth;

    await post(`identity/entity/id/${id}`, { disabled: true });
    expect((await call("GET", "auth/token/lookup-self", { token: text, headers })).status).toBe(403);
    expect((await call("POST", "auth/token/create", { token: text, headers, body: {} })).status).toBe(403);
    expect((await login()).status).toBe(403);
    await post(`identity/entity/id/${id}/not-before`);
    await call("DELETE", `identity/entity/id/${id}`, { token: root });

    const found = await ask({ entity_id: id, order: "oldest" });
    expect(found.events.map(summary)).toEqual([
      ["login", "auth/staff/login", 200],
      ["change", "identity/entity/id/ID", 204],
      ["refusal", "auth/token/lookup-self", 403],
      ["refusal", "auth/token/create", 403],
      ["refusal", "auth/staff/login", 403],
      ["change", "identity/entity/id/ID/not-before", 204],
      ["change", "identity/entity/id/ID", 204],
    ]);
    const [, disabled, read, , refusedLogin] = found.events;
    expect(disabled?.target_entities).toEqual([id]);
    expect(read).toMatchObject({ auth: { accessor, entity_id: id }, client_address: "192.0.2.9" });
    expect(refusedLogin?.target_entities).toEqual([id]);
    expect(refusedLogin?.check).toEqual({
      name: "entity",
      description: "The entity of the holder is disabled or can't be used.",
    });
    const refusals = await ask({ accessor, kind: "refusal" });
    expect(refusals.events.map(({ path }) => path)).toEqual(["auth/token/create", "auth/token/lookup-self"]);
  });

  it("names entities in records of deletions and merges, and never another text that was sent in their place", async () => {
    const { client_token: secret } = await createToken(root);
    const long = "x".repeat(200_000);
    const made = async (): Promise<string> =>
      (await call("POST", "identity/entity", { token: root, body: {} })).body.data.id;
    const [one, two] = [await made(), await made()];
    const printed: string[] = [];
    vi.spyOn(console, "log").mockImplementation((line: unknown) => void printed.push(String(line)));
    const others = [secret, long, ...Array.from({ length: 70 }, () => crypto.randomUUID())];
    const batch = await call("POST", "identity/entity/batch-delete", {
      token: root,
      body: { entity_ids: [...others, one] },
    });
    const alone = await call("DELETE", `identity/entity/id/${secret}`, { token: root });
    const merge = { to_entity_id: secret, from_entity_ids: [two, long.slice(0, 1000)] };
    const merged = await call("POST", "identity/entity/merge", { token: root, body: merge });
    expect([batch.status, alone.status, merged.status]).toEqual([204, 204, 400]);
    for (const line of printed) {
      expect(line).not.toContain(secret);
      expect(line.length).toBeLessThan(20_000);
    }
    const [deletion] = (await ask({ entity_id: one })).events;
    expect(deletion).toMatchObject({ path: "identity/entity/batch-delete", target_entities: [one] });
    expect((await ask({ entity_id: two })).events[0]).toMatchObject({ status: 400, target_entities: [two] });
  });

  it("has the fields of a request that was refused for its network in one line", async () => {
    const networks = { token_bound_cidrs: "198.51.100.0/24" };
    for (const type of ["service", "batch"]) {
      await call("POST", "auth/token/roles/bound", {
        token: root,
        body: { ...networks, orphan: true, renewable: false, allowed_policies: "default", token_type: type },
      });
      const made = await call("POST", "auth/token/create/bound", { token: root, body: { policies: ["default"] } });
      const printed: string[] = [];
      const log = vi.spyOn(console, "log").mockImplementation((line: unknown) => void printed.push(String(line)));
      const body = { display_name: "abcdef", ttl: "5m" };
      const token = made.body.auth.client_token;
      expect((await call("POST", "auth/token/create", { token, headers, body })).status).toBe(403);
      log.mockRestore();
      const lines = printed.map((line) => JSON.parse(line));
      const withFields = lines.filter(({ data }) => data !== undefined);
      expect(withFields, type).toHaveLength(1);
      expect(Object.keys(withFields[0].data)).toEqual(["display_name", "ttl"]);
      expect(withFields[0].auth).toMatchObject({ token_type: type });
    }
  });

  it("answers what a token did while its tree does not say how it ended", async () => {
    const { client_token: text, accessor } = await createToken(root);
    await call("POST", "auth/token/renew-self", { token: text });
    vi.spyOn(console, "error").mockReturnValue();
    failing(TokenTree, "unsweptEnd", "the tree is busy", 1);
    const found = await ask({ accessor });
    expect(found.events.map(({ path }) => path)).toEqual(["auth/token/renew-self", "auth/token/create"]);
    expect(found).toMatchObject({ end_is_unknown: true });
    expect(await ask({ accessor })).not.toHaveProperty("end_is_unknown");
  });

  it("says of a token that came from a network it is not bound to whose it is", async () => {
    const networks = { token_bound_cidrs: "198.51.100.0/24" };
    await call("POST", "auth/token/roles/office", { token: root, body: networks });
    const made = await call("POST", "auth/token/create/office", { token: root, body: { ttl: "1h" } });
    const { client_token: text, accessor } = made.body.auth;
    expect((await call("GET", "auth/token/lookup-self", { token: text, headers })).status).toBe(403);
    const [refused] = (await ask({ accessor, kind: "refusal" })).events;
    expect(refused).toMatchObject({ path: "auth/token/lookup-self", client_address: "192.0.2.9", auth: { accessor } });
  });
});

describe("a revocation", () => {
  const read = async <T>(path: string) => dataOf<T>(await call("GET", path, { token: root }));
  type Asked = { readonly request_id: string; readonly asked_by: { readonly accessor: string } };

  /** The only event of the request that asked for it. */
  async function eventOf({ request_id: request }: Pick<Asked, "request_id">): Promise<Event> {
    expect(request).not.toBe("");
    const { events } = await ask({ request_id: request });
    expect(events).toHaveLength(1);
    return events[0] as Event;
  }

  it("of many tokens: its receipt has the request by which its event is found, and the event has its job", async () => {
    const by = await createToken(root, { policies: ["root"] });
    const made = await createToken(root);
    const body = { accessors: [made.accessor], dry_run: false, include_root: true, expected_count: 1 };
    const { job } = dataOf<{ job: string }>(await call("POST", "sys/tokens/revoke", { token: by.client_token, body }));
    await expect.poll(async () => (await read<{ state: string }>(`sys/tokens/jobs/${job}`)).state).toBe("done");
    const receipt = await read<Asked>(`sys/tokens/jobs/${job}/receipt`);
    const event = await eventOf(receipt);
    expect(event).toMatchObject({ kind: "change", path: "sys/tokens/revoke", revocation: { job, dry_run: false } });
    expect(event.auth?.accessor).toBe(receipt.asked_by.accessor);
    const ended = async () => (await read<{ ended?: object }>(`sys/tokens/${made.accessor}`)).ended;
    await expect.poll(ended).toMatchObject({ job, request_id: receipt.request_id });
    expect((await ask({ actor: by.accessor })).events).toEqual([event]);
  });

  it("of one token: its end has the request by which its event is found", async () => {
    const made = await createToken(root);
    await call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor: made.accessor } });
    const { ended } = await read<{ ended: { request_id: string; by: { accessor: string } } }>(
      `sys/tokens/${made.accessor}`,
    );
    const event = await eventOf(ended);
    expect(event).toMatchObject({ path: "auth/token/revoke-accessor", target_accessor: made.accessor });
    expect(event.auth?.accessor).toBe(ended.by.accessor);
  });

  describe("is named by the events of a token that it ended", () => {
    interface End {
      readonly how: string;
      readonly cause: string;
      readonly request_id: string;
      readonly with?: number;
    }
    /** The end as the events of a token have it: the same as the token's own page. */
    async function endOf(accessor: string): Promise<End | undefined> {
      const { with: _, ...own } = (await read<{ ended?: End }>(`sys/tokens/${accessor}`)).ended ?? {};
      const { ended } = await ask({ accessor });
      expect(ended ?? {}).toEqual(own);
      return ended;
    }

    it("with its parent", async () => {
      const parent = await createToken(root, { policies: ["root"] });
      const child = await createToken(parent.client_token);
      expect(await endOf(child.accessor)).toBeUndefined();
      await call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor: parent.accessor } });
      const { request_id } = await eventOf((await endOf(parent.accessor)) ?? { request_id: "" });
      const ended = { how: "revoked with its parent", cause: parent.accessor, request_id };
      expect(await endOf(child.accessor)).toMatchObject(ended);
      const { next: after } = await ask({ accessor: parent.accessor, limit: 1 });
      expect(after).not.toBe("");
      const next = await ask({ accessor: parent.accessor, limit: 1, after });
      expect(next).not.toHaveProperty("ended");
      expect(next.kept_days).toBe(30);
    });

    it("by a watermark", async () => {
      await call("POST", "auth/token/roles/swept", { token: root, body: { orphan: true } });
      const made = await call("POST", "auth/token/create/swept", { token: root, body: { ttl: "1h" } });
      await call("POST", "sys/leases/revoke-prefix/auth/token/create/swept", { token: root, body: { sync: true } });
      const event = await eventOf((await endOf(made.body.auth.accessor)) ?? { request_id: "" });
      expect(event.path).toBe("sys/leases/revoke-prefix/auth/token/create/swept");
    });

    it("with its entity", async () => {
      const post = (path: string, body: Record<string, unknown> = {}) => call("POST", path, { token: root, body });
      await post("sys/auth/leavers", { type: "approle" });
      await post("auth/leavers/role/people", { token_policies: "default" });
      const roleId = await call("GET", "auth/leavers/role/people/role-id", { token: root });
      const { secret_id } = dataOf<{ secret_id: string }>(await post("auth/leavers/role/people/secret-id"));
      const { role_id } = dataOf<{ role_id: string }>(roleId);
      const login = await call("POST", "auth/leavers/login", { body: { role_id, secret_id } });
      const { accessor, entity_id: id } = login.body.auth;
      await post(`identity/entity/id/${id}/not-before`);
      await expect.poll(() => endOf(accessor)).toBeDefined();
      const event = await eventOf((await endOf(accessor)) ?? { request_id: "" });
      expect(event.path).toBe(`identity/entity/id/${id}/not-before`);
    });
  });

  it("by a prefix: its entry has the request by which its event is found", async () => {
    await call("POST", "auth/token/roles/ending", { token: root, body: {} });
    await call("POST", "sys/leases/revoke-prefix/auth/token/create/ending", { token: root, body: { sync: true } });
    const { revocations } = await read<{ revocations: (Asked & { prefix?: string })[] }>("sys/leases/revocations");
    const entry = revocations.find(({ prefix }) => prefix?.startsWith("auth/token/create/ending"));
    const event = await eventOf(entry ?? { request_id: "" });
    expect(event.path).toBe("sys/leases/revoke-prefix/auth/token/create/ending");
    expect(event.auth?.accessor).toBe(entry?.asked_by.accessor);
  });
});

describe("a question", () => {
  it("is about a request, an address, a path, a kind, a status", async () => {
    const made = await call("PUT", "sys/policies/acl/asked", { token: root, body: { policy: RULES }, headers });
    expect(made.status).toBe(204);
    const [event] = (await ask({ address: "192.0.2.9", path_prefix: "sys/policies/", mount: "sys", status: 204 }))
      .events;
    expect(event).toMatchObject({ kind: "change", path: "sys/policies/acl/asked" });
    expect((await ask({ request_id: event?.request_id })).events).toEqual([event]);
    const refused = await call("PUT", "sys/policies/acl/Asked!", {
      token: await tokenUnder(root, RULES),
      body: { policy: RULES },
    });
    expect(refused.status).toBe(403);
    const id = refused.headers.get("X-Request-Id");
    expect((await ask({ kind: "refusal", request_id: id })).events).toMatchObject([{ status: 403 }]);
  });

  it("about an address finds it in any spelling", async () => {
    const path = "sys/policies/acl/from-six";
    const logged = { "CF-Connecting-IP": "2001:db8::9" };
    await call("PUT", path, { token: root, body: { policy: RULES }, headers: logged });
    expect((await ask({ address: "2001:0DB8:0:0::9" })).events).toMatchObject([{ path }]);
  });

  it("about a role finds who used it and who changed it", async () => {
    await call("POST", "auth/token/roles/maker", { token: root, body: {} });
    await call("POST", "auth/token/create/maker", { token: root, body: {} });
    const { events } = await ask({ role: "maker", mount: "auth/token" });
    expect(events.map(({ path }) => path)).toEqual(["auth/token/create/maker", "auth/token/roles/maker"]);
  });

  it("is answered in pages that go on where the last one ended", async () => {
    const { client_token: token, accessor } = await createToken(root, { policies: ["root"] });
    for (let at = 0; at < 5; at++) await createToken(token);
    const all = (await ask({ accessor })).events;
    const paged: Event[] = [];
    for (let after = "", more = true; more; ) {
      const page = dataOf<Found>(
        await call("GET", `sys/audit/events?accessor=${accessor}&limit=2&after=${after}`, { token: root }),
      );
      expect(page.events.length).toBeLessThanOrEqual(2);
      paged.push(...page.events);
      after = page.next;
      more = after !== "";
    }
    expect(all).toHaveLength(6);
    expect(paged).toEqual(all);
  });

  it.each([
    ["GET", "sys/audit/events?token=s.x", {}, "send a token in a body"],
    ["POST", "sys/audit/events", { token: "s.x" }, "no token of this installation"],
    ["POST", "sys/audit/events", { kind: "x" }, "kind is one of"],
    ["POST", "sys/audit/events", { role: "x" }, "mount of the role"],
    ["POST", "sys/audit/events", { path_prefix: "v1/sys/" }, "path_prefix has no /v1/"],
    ["POST", "sys/audit/events", { path_prefix: "/sys/" }, "path_prefix has no /v1/"],
    ["POST", "sys/audit/events", { lineage: true }, "lineage needs"],
    ["POST", "sys/audit/events", { lineage: true, accessor: "a", below_after: "W10" }, "below_after is not"],
    [
      "POST",
      "sys/audit/events",
      { lineage: true, accessor: "a", below_after: btoa('[["a",5]]') },
      "below_after is not",
    ],
    ["POST", "sys/audit/events", { accessor: "a", below_after: btoa('[["a",null]]') }, "below_after is not"],
    ["POST", "sys/audit/events", { after: "W10" }, "after is not"],
    ["POST", "sys/audit/events", { status: -1 }, "status is from"],
    ["POST", "sys/audit/events", { status: 0 }, "status is from"],
    ["POST", "sys/audit/events", { limit: 0 }, "limit is at least"],
    ["POST", "sys/audit/events", { order: "x" }, "order is"],
    ["POST", "sys/audit/events", { after: "x" }, "not the cursor"],
    ["POST", "sys/audit/events", { limit: 1001 }, "limit is at most"],
  ])("that is malformed is refused with a reason: %s %s %j", async (method, path, body, message) => {
    const answer = await call(method, path, { token: root, ...(method === "POST" && { body }) });
    expect(answer.status).toBe(400);
    expect(String(answer.body.errors)).toContain(message);
  });

  it("with a token in the place of an accessor is refused, and not repeated", async () => {
    const { client_token: token } = await createToken(root);
    const answer = await call("GET", `sys/audit/events?accessor=${token}`, { token: root });
    expect(answer.status).toBe(400);
    expect(String(answer.body.errors)).toContain("must not contain a token");
    expect(String(answer.body.errors)).not.toContain(token);
  });

  it("needs sudo", async () => {
    const reader = await tokenUnder(root, 'path "sys/audit/events" { capabilities = ["read", "update"] }');
    expect((await call("GET", "sys/audit/events", { token: reader })).status).toBe(403);
    const auditor = await tokenUnder(root, 'path "sys/audit/events" { capabilities = ["read", "sudo"] }');
    expect((await call("GET", "sys/audit/events", { token: auditor })).status).toBe(200);
  });

  it("is refused while the store is off", async () => {
    Object.assign(bindings, { AUDIT_STORE: "off" });
    const answer = await call("GET", "sys/audit/events", { token: root });
    Object.assign(bindings, { AUDIT_STORE: "on" });
    expect([answer.status, String(answer.body.errors)]).toEqual([400, expect.stringContaining("AUDIT_STORE")]);
  });
});

describe("one's own entity", () => {
  it("is asked about without sudo, and no other", async () => {
    const entity = dataOf<{ id: string }>(
      await call("POST", "identity/entity", { token: root, body: { name: "ann" } }),
    ).id;
    await call("POST", "auth/token/roles/ann", {
      token: root,
      body: { allowed_entity_aliases: ["ann"], allowed_policies: ["own"] },
    });
    const policy = 'path "sys/audit-self/events" { capabilities = ["read"] }';
    await call("PUT", "sys/policies/acl/own", { token: root, body: { policy } });
    const accessor = dataOf<Record<string, { accessor: string }>>(await call("GET", "sys/auth", { token: root }))[
      "token/"
    ]?.accessor;
    const alias = { name: "ann", canonical_id: entity, mount_accessor: accessor };
    await call("POST", "identity/entity-alias", { token: root, body: alias });
    const made = await call("POST", "auth/token/create/ann", {
      token: root,
      body: { entity_alias: "ann", policies: ["own"] },
    });
    expect(made.status).toBe(200);
    const answer = await call("GET", "sys/audit-self/events", { token: made.body.auth.client_token });
    expect(dataOf<Found>(answer).events).toMatchObject([
      { path: "auth/token/create/ann", response: { auth: { accessor: made.body.auth.accessor } } },
    ]);
    const [event] = dataOf<Found>(answer).events;
    for (const field of ["auth", "token_hash", "client_address"]) expect(event).not.toHaveProperty(field);
    const none = await tokenUnder(root, policy);
    expect((await call("GET", "sys/audit-self/events", { token: none })).status).toBe(400);
  });
});

describe("what anybody can do without a token", () => {
  it.each<[string, string, string, Record<string, string>]>([
    ["a read whose answer is to be wrapped", "GET", "sys/health", { "X-Vault-Wrap-TTL": "1h" }],
    ["a read that is sent as a write", "POST", "sys/internal/specs/openapi", {}],
  ])("does not push out what the store has: %s", async (_, method, path, more) => {
    const sent = { "CF-Connecting-IP": `198.51.100.${path.length}`, ...more };
    for (let at = 0; at < MAX_IN_FULL + 20; at++)
      expect((await call(method, path, { headers: sent })).status).toBe(200);
    expect((await ask({ path_prefix: path, limit: 1000 })).events).toHaveLength(MAX_IN_FULL);
  });
});
