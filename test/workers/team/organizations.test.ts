import { runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { OrganizationDirectory } from "../../../src/team/organization-directory.ts";
import { organizationNamed } from "../../../src/team/stubs.ts";
import { atCalls } from "../../support/calls.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import {
  type ApiResource,
  api,
  createOrganization,
  createTeam,
  errorOf,
  list,
  resource,
  statusOf,
  teamsOf,
} from "../../support/teams.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

describe("ping", () => {
  it("204 without a token: with the headers that clients start with", async () => {
    const answer = await api("GET", "ping");
    expect(answer.status).toBe(204);
    expect(answer.headers.get("TFP-API-Version")).toBe("2.6");
    // The tfe provider manages token TTL policies from this version on.
    expect(answer.headers.get("X-TFE-Current-Version")).toBe("2.0.1");
    expect(answer.headers.get("TFP-AppName")).toBe("Grove");
    // A limit from 1 to 3 stops clients altogether, any other slows them down, and a reset that is no number ends them.
    for (const name of ["Limit", "Remaining", "Reset"]) expect(answer.headers.get(`X-RateLimit-${name}`)).toBeNull();
  });
});

describe("account/details", () => {
  it("200: the user that stands for an ordinary token", async () => {
    const { client_token: token } = await createToken(root, { display_name: "ann" });
    const answer = await api("GET", "account/details", { token });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject({
      id: expect.stringMatching(/^user-[0-9A-Za-z]{16}$/),
      type: "users",
      attributes: { username: "token-ann", "is-service-account": false },
    });
  });

  it("404: for a token without the default policy; 401 without a token", async () => {
    const { client_token: token } = await createToken(root, { policies: ["nothing"], no_default_policy: true });
    expect(await statusOf(token)).toBe(404);
    expect((await api("GET", "account/details")).status).toBe(401);
  });
});

describe("organizations", () => {
  it("201, 200, 200, 204: made, shown, changed and deleted", async () => {
    const made = await api("POST", "organizations", {
      token: root,
      body: resource("organizations", { name: "acme", email: "a@example.com", "session-timeout": 5, unknown: 1 }),
    });
    expect(made.status).toBe(201);
    expect(made.body.data).toEqual({
      id: "acme",
      type: "organizations",
      attributes: {
        name: "acme",
        "external-id": expect.stringMatching(/^org-[0-9A-Za-z]{16}$/),
        email: "a@example.com",
        "created-at": expect.stringMatching(/Z$/),
        "aggregated-commit-status-enabled": true,
        "allow-force-delete-workspaces": false,
        "assessments-enforced": false,
        "collaborator-auth-policy": "password",
        "cost-estimation-enabled": true,
        "default-execution-mode": "remote",
        "default-team-token-ttl-ms": null,
        "end-tokens-after-24-months": false,
        "max-ttl-enabled": false,
        "enforce-hyok": false,
        "owners-team-saml-role-id": null,
        "registry-monorepo-support-enabled": false,
        "send-passing-statuses-for-untriggered-speculative-plans": false,
        "session-remember": null,
        "session-timeout": 5,
        "speculative-plan-management-enabled": true,
        "stacks-enabled": false,
        "user-tokens-enabled": true,
        "is-unified": false,
        "saml-enabled": false,
        "two-factor-conformant": false,
        "trial-expires-at": null,
        "remaining-testable-count": 0,
        permissions: { "can-traverse": true, "can-update": true, "can-destroy": true, "can-create-team": true },
      },
      links: { self: "/api/v2/organizations/acme" },
    });
    expect((await api("GET", "organizations/acme", { token: root })).body).toEqual(made.body);
    const changed = await api("PATCH", "organizations/acme", {
      token: root,
      body: resource("organizations", { name: "acme", email: "b@example.com" }),
    });
    expect(changed.status).toBe(200);
    expect(changed.body.data.attributes.email).toBe("b@example.com");
    const named = await api<ApiResource[]>("GET", "organizations?q=CM", { token: root });
    expect(named.body.data.map(({ id, attributes }) => [id, attributes.email])).toEqual([["acme", "b@example.com"]]);
    expect((await api("PATCH", "organizations/acme", { token: root, raw: "" })).body).toEqual(changed.body);
    expect((await api("DELETE", "organizations/acme", { token: root })).status).toBe(204);
    for (const method of ["GET", "PATCH", "DELETE"]) {
      expect((await api(method, "organizations/acme", { token: root })).status).toBe(404);
    }
    expect((await api<ApiResource[]>("GET", "organizations", { token: root })).body.data).toEqual([]);
  });

  it("keep the settings that clients give them, and forget none with a later change", async () => {
    await createOrganization(root, "settled");
    const change = async (attributes: Record<string, unknown>) =>
      (await api("PATCH", "organizations/settled", { token: root, body: resource("organizations", attributes) })).body
        .data.attributes;
    const first = { "session-remember": 30, "assessments-enforced": true, "owners-team-saml-role-id": "owners" };
    expect(await change(first)).toMatchObject(first);
    const second = { "owners-team-saml-role-id": null, "default-execution-mode": "local" };
    expect(await change(second)).toMatchObject({ ...first, ...second, email: "admin@example.com" });
    const shown = await api("GET", "organizations/settled", { token: root });
    expect(shown.body.data.attributes).toMatchObject({ ...first, ...second });
    expect(shown.body.data).toEqual(
      (await api<ApiResource[]>("GET", "organizations?q=settled", { token: root })).body.data[0],
    );
  });

  it.each([
    ["session-timeout", 0],
    ["session-timeout", 1.5],
    ["session-remember", "30"],
    ["collaborator-auth-policy", "none"],
    ["default-execution-mode", "agent"],
    ["stacks-enabled", "yes"],
    ["owners-team-saml-role-id", "x".repeat(257)],
    ["user-tokens-enabled", false],
    ["default-team-token-ttl-ms", 0],
    ["max-ttl-enabled", "yes"],
  ])("422: %s %s", async (name, value) => {
    await api("POST", "organizations", {
      token: root,
      body: resource("organizations", { name: "refusing", email: "a@b" }),
    });
    const before = await api("GET", "organizations/refusing", { token: root });
    const body = resource("organizations", { email: "other@example.com", [name]: value });
    const answer = await api("PATCH", "organizations/refusing", { token: root, body });
    expect(answer.status).toBe(422);
    expect(errorOf(answer).source).toEqual({ pointer: `/data/attributes/${name}` });
    expect((await api("GET", "organizations/refusing", { token: root })).body).toEqual(before.body);
  });

  it("that were stored without settings show the defaults", async () => {
    const organization = organizationNamed(bindings, "of-before");
    await organization.create({ name: "of-before", organizationId: "org-x", email: "a@b", createdAt: 0 });
    const shown = await api("GET", "organizations/of-before", { token: root });
    expect(shown.body.data.attributes).toMatchObject({
      "collaborator-auth-policy": "password",
      "session-timeout": null,
    });
  });

  it("can be made again under the same name, as another one", async () => {
    await createOrganization(root, "again");
    const first = (await api("GET", "organizations/again", { token: root })).body.data.attributes["external-id"];
    await createTeam(root, "again", "team");
    await api("DELETE", "organizations/again", { token: root });
    await createOrganization(root, "again");
    const second = await api("GET", "organizations/again", { token: root });
    expect(second.body.data.attributes["external-id"]).not.toBe(first);
    expect(await teamsOf(root, "again")).toEqual([]);
  });

  it("are listed as the later of two changes left them, whichever call to the list is the slower", async () => {
    await createOrganization(root, "changed-twice");
    const change = (email: string) =>
      api("PATCH", "organizations/changed-twice", { token: root, body: resource("organizations", { email }) });
    const { promise: free, resolve: release } = Promise.withResolvers<void>();
    const { promise: underWay, resolve: arrived } = Promise.withResolvers<void>();
    const slow = atCalls(OrganizationDirectory, "put", async ({ proceed }) => {
      slow.end();
      arrived();
      await free;
      return proceed();
    });
    const first = change("first@example.com");
    await underWay;
    expect((await change("second@example.com")).status).toBe(200);
    release();
    expect((await first).status).toBe(200);
    const listed = await api<ApiResource[]>("GET", "organizations?q=changed-twice", { token: root });
    expect(listed.body.data[0]?.attributes.email).toBe("second@example.com");
  });

  it("are listed in pages by name", async () => {
    for (const name of ["page-c", "Page-a", "page-b"]) await createOrganization(root, name);
    const answer = await api<ApiResource[]>("GET", "organizations?q=page&page[size]=2&page[number]=2", { token: root });
    expect(answer.body.data.map(({ id }) => id)).toEqual(["page-c"]);
    expect(answer.body.meta.pagination).toMatchObject({ "total-count": 3, "prev-page": 1, "next-page": null });
    const whole = await api<ApiResource[]>("GET", "organizations?page[size]=100", { token: root });
    const names = whole.body.data.map(({ id }) => id);
    expect(names).toEqual([...names].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)));
  });

  it.each([
    ["no name", { email: "a@example.com" }, "/data/attributes/name"],
    ["an empty name", { name: "", email: "a@example.com" }, "/data/attributes/name"],
    ["a name with a slash", { name: "a/b", email: "a@example.com" }, "/data/attributes/name"],
    ["a name with a letter beyond ASCII", { name: "ä", email: "a@example.com" }, "/data/attributes/name"],
    ["a name that is too long", { name: "a".repeat(91), email: "a@example.com" }, "/data/attributes/name"],
    ["no address", { name: "fine" }, "/data/attributes/email"],
    ["an address that is none", { name: "fine", email: "a b" }, "/data/attributes/email"],
  ])("422: %s", async (_, attributes, pointer) => {
    const answer = await api("POST", "organizations", { token: root, body: resource("organizations", attributes) });
    expect(answer.status).toBe(422);
    expect(errorOf(answer)).toMatchObject({ status: "422", source: { pointer } });
  });

  it("422: a name that is taken, in any case", async () => {
    await createOrganization(root, "Taken");
    for (const name of ["Taken", "taken"]) {
      const body = resource("organizations", { name, email: "a@example.com" });
      const answer = await api("POST", "organizations", { token: root, body });
      expect(answer.status).toBe(422);
      expect(errorOf(answer)).toEqual({
        status: "422",
        title: "invalid attribute",
        detail: "Name has already been taken",
        source: { pointer: "/data/attributes/name" },
      });
    }
  });

  it("422: another name for one that exists", async () => {
    await createOrganization(root, "fixed");
    const body = resource("organizations", { name: "Fixed" });
    const answer = await api("PATCH", "organizations/fixed", { token: root, body });
    expect(answer.status).toBe(422);
    expect(errorOf(answer).source).toEqual({ pointer: "/data/attributes/name" });
  });

  it("404: for callers without a policy for the path", async () => {
    const { client_token: token } = await createToken(root, { policies: ["default"] });
    await createOrganization(root, "hidden");
    const body = resource("organizations", { name: "new", email: "a@example.com" });
    expect((await api("POST", "organizations", { token, body })).status).toBe(404);
    for (const method of ["GET", "PATCH", "DELETE"]) {
      expect((await api(method, "organizations/hidden", { token })).status).toBe(404);
    }
  });
});

const showTeam = async (id: string) => (await api("GET", `teams/${id}`, { token: root })).body.data;

describe("teams", () => {
  beforeAll(async () => {
    await createOrganization(root, "teams");
  });

  it("200, 200, 200, 204: made, shown, changed and deleted", async () => {
    const access = { "manage-workspaces": true, "manage-policies": false };
    const { "organization-access": NO_ACCESS } = (await showTeam(await createTeam(root, "teams", "none")))
      .attributes as {
      "organization-access": Record<string, boolean>;
    };
    expect(Object.keys(NO_ACCESS)).toHaveLength(18);
    expect(Object.values(NO_ACCESS)).not.toContain(true);
    const made = await api("POST", "organizations/teams/teams", {
      token: root,
      body: resource("teams", { name: "Ops", "organization-access": access, unknown: 1 }),
    });
    expect(made.status).toBe(200);
    const { id } = made.body.data;
    expect(made.body.data).toEqual({
      id: expect.stringMatching(/^team-[1-9A-HJ-NP-Za-km-z]{16}$/),
      type: "teams",
      attributes: {
        name: "Ops",
        visibility: "secret",
        "sso-team-id": null,
        "allow-member-token-management": true,
        "organization-access": { ...NO_ACCESS, ...access },
        "token-policies": [],
        "is-unified": false,
        "users-count": 0,
        "created-at": expect.stringMatching(/Z$/),
        permissions: { "can-update-membership": false, "can-destroy": true },
      },
      relationships: {
        organization: { data: { id: "teams", type: "organizations" } },
        users: { data: [] },
        "organization-memberships": { data: [] },
        "authentication-token": { meta: {} },
      },
      links: { self: `/api/v2/teams/${id}` },
    });
    expect((await api("GET", `teams/${id}`, { token: root })).body).toEqual(made.body);
    const changed = await api("PATCH", `teams/${id}`, {
      token: root,
      body: resource("teams", {
        name: "ops-2",
        visibility: "organization",
        "sso-team-id": "x",
        "allow-member-token-management": false,
        "organization-access": { "manage-teams": true, "not-known-here": true },
      }),
    });
    expect(changed.status).toBe(200);
    expect(changed.body.data.attributes).toMatchObject({
      name: "ops-2",
      visibility: "organization",
      "sso-team-id": "x",
      "allow-member-token-management": false,
      "organization-access": { ...NO_ACCESS, ...access, "manage-teams": true },
    });
    expect((await list(root, "teams", "teams?q=PS-")).body.data).toEqual([changed.body.data]);
    expect((await list(root, "teams", "teams?q=Ops&filter[names]=")).status).toBe(400);
    expect((await api("DELETE", `teams/${id}`, { token: root })).status).toBe(204);
    for (const method of ["GET", "PATCH", "DELETE"]) {
      expect((await api(method, `teams/${id}`, { token: root })).status).toBe(404);
    }
    expect((await teamsOf(root, "teams")).map(({ attributes }) => attributes.name)).toEqual(["none"]);
  });

  it("can have names with blanks, and are found by them", async () => {
    const id = await createTeam(root, "teams", "Foo bar/baz");
    for (const query of ["q=o B", "q=%20", "q=r/", "filter[names]=foo BAR/baz"]) {
      expect((await list(root, "teams", `teams?${query}`)).body.data.map((team) => team.id)).toEqual([id]);
    }
    expect((await list(root, "teams", "teams?q=z%20")).body.data).toEqual([]);
    await api("DELETE", `teams/${id}`, { token: root });
    expect((await list(root, "teams", "teams?q=%20")).body.data).toEqual([]);
  });

  it("include their members when asked: there are none", async () => {
    const id = await createTeam(root, "teams", "includes");
    for (const path of [
      `teams/${id}?include=users`,
      "organizations/teams/teams?include=users,organization-memberships",
    ]) {
      const answer = await api("GET", path, { token: root });
      expect(answer.body).toMatchObject({ included: [] });
      expect(answer.status).toBe(200);
    }
    for (const path of [`teams/${id}?include=x`, "organizations/teams/teams?include=", "organizations?include=users"]) {
      const answer = await api("GET", path, { token: root });
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).toMatchObject({ detail: expect.stringContaining("include parameter") });
    }
    await api("DELETE", `teams/${id}`, { token: root });
  });

  it("are listed by name, in pages, or those with given names", async () => {
    for (const name of ["c", "A", "b"]) await createTeam(root, "teams", name);
    const names = async (query: string) =>
      (await list(root, "teams", `teams?${query}`)).body.data.map(({ attributes }) => attributes.name);
    expect(await names("")).toEqual(["A", "b", "c", "none", "owners"]);
    expect(await names("page[size]=2&page[number]=2")).toEqual(["c", "none"]);
    expect(await names("filter[names]=C,a,zz")).toEqual(["A", "c"]);
    expect(await names("filter[names]=C,a&page[size]=1&page[number]=2")).toEqual(["c"]);
    expect((await list(root, "teams", `teams?filter[names]=${"x,".repeat(101)}`)).status).toBe(400);
    expect((await list(root, "nowhere", "teams")).status).toBe(404);
    expect((await list(root, "nowhere", "teams?filter[names]=a")).status).toBe(404);
  });

  it.each([
    ["no name", {}, "/data/attributes/name"],
    ["a name with a blank at its end", { name: "a " }, "/data/attributes/name"],
    ["a visibility that is none", { name: "x", visibility: "public" }, "/data/attributes/visibility"],
    ["an id that is no text", { name: "x", "sso-team-id": 1 }, "/data/attributes/sso-team-id"],
    [
      "a flag that is none",
      { name: "x", "allow-member-token-management": "yes" },
      "/data/attributes/allow-member-token-management",
    ],
    [
      "rights that are no flags",
      { name: "x", "organization-access": { "manage-teams": 1 } },
      "/data/attributes/organization-access",
    ],
    ["root's policy", { name: "x", "token-policies": [" ROOT "] }, "/data/attributes/token-policies"],
    [
      "the policy of wrappings",
      { name: "x", "token-policies": ["response-wrapping"] },
      "/data/attributes/token-policies",
    ],
    ["policies that are no list", { name: "x", "token-policies": "a" }, "/data/attributes/token-policies"],
  ])("422: %s", async (_, attributes, pointer) => {
    const answer = await api("POST", "organizations/teams/teams", { token: root, body: resource("teams", attributes) });
    expect(answer.status).toBe(422);
    expect(errorOf(answer)).toMatchObject({ status: "422", source: { pointer } });
  });

  it("422: a name that another team has, in any case; each keeps its own", async () => {
    const first = await createTeam(root, "teams", "first");
    const second = await createTeam(root, "teams", "second");
    const before = await teamsOf(root, "teams");
    for (const [method, path, name] of [
      ["POST", "organizations/teams/teams", "FIRST"],
      ["PATCH", `teams/${second}`, "First"],
    ] as const) {
      const answer = await api(method, path, { token: root, body: resource("teams", { name }) });
      expect(answer.status).toBe(422);
      expect(errorOf(answer)).toMatchObject({ detail: "Name has already been taken" });
    }
    expect(await teamsOf(root, "teams")).toEqual(before);
    expect((await api("GET", `teams/${second}`, { token: root })).body.data.attributes.name).toBe("second");
    const own = await api("PATCH", `teams/${first}`, { token: root, body: resource("teams", { name: "FIRST" }) });
    expect(own.body.data.attributes.name).toBe("FIRST");
  });

  it("of two at once with one name one is made", async () => {
    const body = resource("teams", { name: "race" });
    const answers = await Promise.all(
      [1, 2].map(() => api("POST", "organizations/teams/teams", { token: root, body })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
    expect((await list(root, "teams", "teams?q=race")).body.data).toHaveLength(1);
  });

  it("404: in an organization that does not exist, or not by this spelling", async () => {
    const body = resource("teams", { name: "x" });
    for (const name of ["nowhere", "TEAMS"]) {
      expect((await api("POST", `organizations/${name}/teams`, { token: root, body })).status).toBe(404);
    }
  });

  it("403: policies for its token from a caller without sudo", async () => {
    const rules = `path "organizations/+/teams" { capabilities = ["update"] } path "teams/+" { capabilities = ["patch"] }`;
    await call("PUT", "sys/policies/acl/no-sudo", { token: root, body: { policy: rules } });
    const { client_token: token } = await createToken(root, { policies: ["no-sudo"] });
    const plain = await api("POST", "organizations/teams/teams", { token, body: resource("teams", { name: "plain" }) });
    expect(plain.status).toBe(200);
    const more = resource("teams", { name: "more", "token-policies": ["no-sudo"] });
    for (const [method, path, body] of [
      ["POST", "organizations/teams/teams", more],
      ["PATCH", `teams/${plain.body.data.id}`, more],
      ["PATCH", `teams/${plain.body.data.id}`, resource("teams", { "token-policies": [] })],
    ] as const) {
      const answer = await api(method, path, { token, body });
      expect(answer.status).toBe(403);
      expect(errorOf(answer)).toMatchObject({ status: "403", title: "forbidden" });
    }
    expect((await api("GET", `teams/${plain.body.data.id}`, { token: root })).body.data.attributes).toMatchObject({
      name: "plain",
      "token-policies": [],
    });
    const sudo = rules.replaceAll('"]', '", "sudo"]');
    await call("PUT", "sys/policies/acl/with-sudo", { token: root, body: { policy: sudo } });
    const { client_token: strong } = await createToken(root, { policies: ["with-sudo"] });
    const given = await api("POST", "organizations/teams/teams", { token: strong, body: more });
    expect(given.body.data.attributes["token-policies"]).toEqual(["no-sudo"]);
  });
});

it("a change that can't be stored is not in effect either", async () => {
  await createOrganization(root, "unstored");
  const change = { email: "b@example.com", settings: {}, maxTtls: {} };
  await runInDurableObject(organizationNamed(bindings, "unstored"), async (object, { storage }) => {
    const before = object.show("unstored");
    storage.sql.exec("ALTER TABLE organization RENAME TO hidden");
    await expect(object.update("unstored", change)).rejects.toThrow("no such table");
    await expect(object.remove("unstored")).rejects.toThrow("no such table");
    storage.sql.exec("ALTER TABLE hidden RENAME TO organization");
    expect(before).not.toBeNull();
    expect(object.show("unstored")).toEqual(before);
  });
});
