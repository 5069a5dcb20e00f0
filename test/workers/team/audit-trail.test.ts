import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bindings, call, initialized, tokenUnder } from "../../support/service.ts";
import { api, createTeam, generateToken, organizationWithTeam, ownersOf, resource } from "../../support/teams.ts";

interface TrailEvent {
  readonly id: string;
  readonly timestamp: string;
  readonly auth: Readonly<Record<string, unknown>>;
  readonly request: { readonly id: string };
  readonly resource: {
    readonly id: string;
    readonly type: string;
    readonly action: string;
    readonly meta: { readonly path: string };
  };
}
interface Trail {
  readonly data: readonly TrailEvent[];
  readonly pagination: Readonly<Record<string, number | null>>;
}

let root: string;
let name: string;
let teamId: string;
let token: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(async () => {
  ({ organization: name, teamId } = await organizationWithTeam(root));
  token = await tokenOf(name, "?token=audit-trails");
});

afterEach(() => {
  Object.assign(bindings, { AUDIT_STORE: "on" });
});

async function tokenOf(organization: string, query = ""): Promise<string> {
  const path = `organizations/${organization}/authentication-token${query}`;
  const answer = await api("POST", path, { token: root, body: resource("authentication-token", {}) });
  expect(answer.status).toBe(201);
  return String(answer.body.data.attributes.token);
}

const ask = (query = "", by = token) => api("GET", `organization/audit-trail${query}`, { token: by });

async function trail(query = "", by = token): Promise<Trail> {
  const answer = await ask(query, by);
  expect(answer.status).toBe(200);
  return answer.body as unknown as Trail;
}

const changes = ({ data }: Trail) =>
  data.map(({ resource: { type, action, meta } }) => [action, type, meta.path] as const);

describe("the audit trail of an organization", () => {
  it("has what was changed in it, the newest first, also by the id of a team or a token", async () => {
    const made = await generateToken(root, teamId);
    const body = resource("authentication-tokens", { "overlap-seconds": 0 });
    await api("POST", `authentication-tokens/${made.id}/actions/rotate`, { token: root, body });
    await api("PATCH", `organizations/${name}`, {
      token: root,
      body: resource("organizations", { email: "new@example.com" }),
    });
    await api("DELETE", `teams/${teamId}`, { token: root });
    const found = await trail();
    expect(changes(found)).toEqual([
      ["destroy", "team", `teams/${teamId}`],
      ["update", "organization", `organizations/${name}`],
      ["rotate", "authentication_token", `authentication-tokens/${made.id}/actions/rotate`],
      ["create", "authentication_token", `teams/${teamId}/authentication-token`],
      ["create", "authentication_token", `organizations/${name}/authentication-token`],
      ["create", "team", `organizations/${name}/teams`],
    ]);
    expect(found.data.map((event) => event.resource.id)).toEqual([
      teamId,
      name,
      made.id,
      made.id,
      expect.stringMatching(/^at-/),
      teamId,
    ]);
  });

  it("has events in the form of HCP Terraform", async () => {
    const found = await trail();
    const id = expect.stringMatching(/^[\da-f-]{36}$/);
    expect(found.data[1]).toEqual({
      id,
      version: "0",
      type: "Resource",
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      auth: {
        accessor_id: expect.stringMatching(/./),
        description: "root",
        type: "Client",
        impersonator_id: null,
        organization_id: name,
      },
      request: { id },
      resource: {
        id: teamId,
        type: "team",
        action: "create",
        meta: { path: `organizations/${name}/teams`, operation: "update" },
      },
    });
    expect(found.data[1]?.id).toBe(found.data[1]?.request.id);
    expect(found.pagination).toEqual({
      current_page: 1,
      page_size: 20,
      prev_page: null,
      next_page: null,
      total_pages: 1,
      total_count: 2,
    });
  });

  it("is answered in pages in order", async () => {
    for (const team of ["a", "b", "c"]) await createTeam(root, name, team);
    const all = await trail();
    const pages = await Promise.all([1, 2, 3, 4].map((page) => trail(`?page[number]=${page}&page[size]=2`)));
    expect(pages.flatMap(({ data }) => data)).toEqual(all.data);
    expect(pages.map(({ data }) => data.length)).toEqual([2, 2, 1, 0]);
    expect(pages.map(({ pagination }) => [pagination.prev_page, pagination.next_page])).toEqual([
      [null, 2],
      [1, 3],
      [2, null],
      [3, null],
    ]);
    expect(pages[1]?.pagination).toMatchObject({ current_page: 2, page_size: 2, total_pages: 3, total_count: 5 });
  });

  it("begins at a time", async () => {
    await createTeam(root, name, "later");
    const { data } = await trail();
    const since = data[0]?.timestamp ?? "";
    expect((await trail(`?since=${since}`)).data).toEqual(data.filter(({ timestamp }) => timestamp >= since));
    expect(await trail("?since=2999-01-01T00:00:00Z")).toMatchObject({ data: [], pagination: { total_count: 0 } });
  });

  it("never has events of another organization, nor of an earlier one of its name", async () => {
    const other = await organizationWithTeam(root);
    await generateToken(root, other.teamId);
    expect((await trail()).data).toHaveLength(2);
    await api("DELETE", `organizations/${name}`, { token: root });
    expect((await ask()).status).toBe(401);
    const body = resource("organizations", { name, email: "a@example.com" });
    expect((await api("POST", "organizations", { token: root, body })).status).toBe(201);
    const again = await tokenOf(name, "?token=audit-trails");
    expect(changes(await trail("", again))).toEqual([
      ["create", "authentication_token", `organizations/${name}/authentication-token`],
    ]);
  });

  it("has nothing of what was refused or read", async () => {
    const stranger = await tokenUnder(root, 'path "secret" { capabilities = ["read"] }');
    expect((await api("DELETE", `teams/${teamId}`, { token: stranger })).status).toBe(404);
    await api("GET", `teams/${teamId}`, { token: root });
    expect((await trail()).data).toHaveLength(2);
  });
});

describe("the token of audit trails", () => {
  it("reads the trail, as that of the organization does, and no other", async () => {
    const owners = await generateToken(root, await ownersOf(root, name));
    const rules = 'path "organization/audit-trail" { capabilities = ["read", "sudo"] }';
    const own = await tokenOf(name);
    expect(await trail("", own)).toEqual(await trail());
    expect(changes(await trail("", own))).toHaveLength(4);
    for (const by of [root, owners.text, await tokenUnder(root, rules)]) {
      expect((await ask("", by)).status).toBe(404);
    }
    expect((await ask("", "x.atlasv1.y")).status).toBe(401);
  });

  it("reads nothing else", async () => {
    const paths = ["account/details", "organizations", `organizations/${name}`, `organizations/${name}/teams`];
    for (const path of [...paths, `teams/${teamId}`, "organization/audit-trail/x"]) {
      expect([path, (await api("GET", path, { token })).status]).toEqual([path, 404]);
    }
    for (const path of ["sys/audit/events", "sys/audit-self/events", "auth/token/lookup-self"]) {
      expect([path, (await call("GET", path, { token })).status]).toEqual([path, 403]);
    }
  });

  it.each(["since=x", "since=", "page[size]=101", "page[number]=0", "organization=x", "since=a&since=b"])(
    "400: ?%s",
    async (query) => {
      expect((await ask(`?${query}`)).status).toBe(400);
    },
  );

  it("gets the answer that the store is off", async () => {
    Object.assign(bindings, { AUDIT_STORE: "off" });
    const answer = await ask();
    expect([answer.status, answer.body.errors[0]?.detail]).toEqual([400, expect.stringContaining("AUDIT_STORE")]);
  });
});
