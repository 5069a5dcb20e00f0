import { runDurableObjectAlarm } from "cloudflare:test";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { teamRoute } from "../../../src/team/ids.ts";
import { organizationNamed, teamAt } from "../../../src/team/stubs.ts";
import { Team } from "../../../src/team/team.ts";
import { failing } from "../../support/calls.ts";
import { bindings, call, initialized } from "../../support/service.ts";
import { alter } from "../../support/storage-writer.ts";
import {
  api,
  createOrganization,
  createTeam,
  describeToken,
  errorOf,
  generateToken,
  list,
  ownersOf,
  resource,
  statusOf,
} from "../../support/teams.ts";

let root: string;
let name: string;
let owners: string;
let count = 0;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(async () => {
  name = await createOrganization(root, `owned-${count++}`);
  owners = await ownersOf(root, name);
});

describe("the owners of an organization", () => {
  it("are a team from its creation", async () => {
    const teams = await list(root, name, "teams");
    expect(teams.body.meta.pagination["total-count"]).toBe(1);
    expect(teams.body.data[0]).toMatchObject({
      id: owners,
      attributes: { name: "owners", visibility: "organization", permissions: { "can-destroy": false } },
    });
    expect((await api("GET", `teams/${owners}`, { token: root })).body.data).toEqual(teams.body.data[0]);
  });

  it("403: can't be deleted or renamed, and nobody else gets their name", async () => {
    const rename = resource("teams", { name: "others" });
    for (const [method, body] of [
      ["DELETE", undefined],
      ["PATCH", rename],
    ] as const) {
      const answer = await api(method, `teams/${owners}`, { token: root, body });
      expect(answer.status).toBe(403);
      expect(errorOf(answer).detail).toContain("owners");
    }
    const again = resource("teams", { name: "Owners" });
    expect((await api("POST", `organizations/${name}/teams`, { token: root, body: again })).status).toBe(422);
    const same = resource("teams", { name: "owners", "sso-team-id": "x" });
    expect((await api("PATCH", `teams/${owners}`, { token: root, body: same })).status).toBe(200);
  });

  it("manage the organization with their token, and no other", async () => {
    const { text: token } = await generateToken(root, owners);
    const other = await createOrganization(root, `${name}-other`);
    const foreign = await createTeam(root, other, "foreign");
    const { id: foreignToken } = await generateToken(root, foreign);

    const settings = resource("organizations", { email: "owners@example.com" });
    expect((await api("PATCH", `organizations/${name}`, { token, body: settings })).status).toBe(200);
    const made = await api("POST", `organizations/${name}/teams`, { token, body: resource("teams", { name: "new" }) });
    expect(made.status).toBe(200);
    expect(made.body.data.attributes.permissions).toMatchObject({ "can-destroy": true });
    const { id } = made.body.data;
    const described = await describeToken(token, id, "CI");
    expect((await api("GET", `authentication-tokens/${described.id}`, { token })).status).toBe(200);
    expect((await list(token, name, "team-tokens")).body.data).toHaveLength(2);
    expect((await api("DELETE", `authentication-tokens/${described.id}`, { token })).status).toBe(204);
    expect((await api("DELETE", `teams/${id}`, { token })).status).toBe(204);

    for (const [method, path, body] of [
      ["GET", "organizations", undefined],
      ["GET", `organizations/${other}`, undefined],
      ["PATCH", `organizations/${other}`, settings],
      ["POST", `organizations/${other}/teams`, resource("teams", { name: "new" })],
      ["GET", `teams/${foreign}`, undefined],
      ["POST", `teams/${foreign}/authentication-token`, undefined],
      ["GET", `authentication-tokens/${foreignToken}`, undefined],
      ["DELETE", `authentication-tokens/${foreignToken}`, undefined],
    ] as const) {
      expect([method, path, (await api(method, path, { token, body })).status]).toEqual([method, path, 404]);
    }
    expect((await call("GET", "sys/mounts", { token })).status).toBe(403);
    expect((await api("DELETE", `organizations/${name}`, { token })).status).toBe(204);
    expect(await statusOf(token)).toBe(401);
  });

  it("403: have no say in the policies of teams, their own among them", async () => {
    const { text: token } = await generateToken(root, owners);
    const body = resource("teams", { name: "owners", "token-policies": ["default"] });
    const answer = await api("PATCH", `teams/${owners}`, { token, body });
    expect(answer.status).toBe(403);
    expect((await api("GET", `teams/${owners}`, { token: root })).body.data.attributes["token-policies"]).toEqual([]);
  });

  it("404: what a policy of theirs denies", async () => {
    const rules = `path "organizations/${name}" { capabilities = ["deny"] } path "teams/+/authentication-token" { capabilities = ["deny"] }`;
    await call("PUT", `sys/policies/acl/${name}`, { token: root, body: { policy: rules } });
    await api("PATCH", `teams/${owners}`, { token: root, body: resource("teams", { "token-policies": [name] }) });
    const { text: token } = await generateToken(root, owners);
    const team = await createTeam(root, name, "team");
    expect((await api("DELETE", `organizations/${name}`, { token })).status).toBe(404);
    expect((await api("POST", `teams/${team}/authentication-token`, { token })).status).toBe(404);
    expect((await api("GET", `teams/${team}`, { token })).status).toBe(200);
  });

  it("are made by the alarm when that failed, once", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    failing(Team, "create", "no answer", 1);
    const late = await createOrganization(root, `${name}-late`);
    expect((await list(root, late, "teams")).body.data).toEqual([]);
    const taken = resource("teams", { name: "owners" });
    expect((await api("POST", `organizations/${late}/teams`, { token: root, body: taken })).status).toBe(422);
    await runDurableObjectAlarm(organizationNamed(bindings, late));
    const id = await ownersOf(root, late);
    await runDurableObjectAlarm(organizationNamed(bindings, late));
    expect((await list(root, late, "teams")).body.data.map((team) => team.id)).toEqual([id]);
    expect((await teamAt(bindings, teamRoute(id)).show())?.owners).toBe(true);
  });

  it("are listed again when the organization has lost its copy of them, and not asked for without end", async () => {
    const lost = await createOrganization(root, `${name}-lost`);
    const id = await ownersOf(root, lost);
    await alter(organizationNamed(bindings, lost), "DELETE FROM teams");
    const body = resource("organizations", { email: "b@example.com" });
    expect((await api("PATCH", `organizations/${lost}`, { token: root, body })).status).toBe(200);
    expect(await ownersOf(root, lost)).toBe(id);
  });
});
