import { beforeAll, describe, expect, it } from "vitest";
import { call, initialized, tokenUnder } from "../../support/service.ts";
import {
  api,
  createOrganization,
  createTeam,
  describeToken,
  generateToken,
  idsOf,
  list,
  resource,
} from "../../support/teams.ts";

let root: string;
let team: string;
let foreign: string;

beforeAll(async () => {
  root = await initialized();
  team = await createTeam(root, await createOrganization(root, "acme"), "team");
  foreign = await createTeam(root, await createOrganization(root, "other"), "team");
});

describe("a policy for the teams of an organization", () => {
  it("reaches all of them, with their tokens, and no others", async () => {
    const token = await tokenUnder(
      root,
      `path "organizations/acme/teams/*" { capabilities = ["create", "read", "update", "patch", "delete"] }`,
    );
    const [own, theirs] = [await describeToken(root, team, "CI"), await describeToken(root, foreign, "CI")];
    for (const [method, path, allowed] of [
      ["GET", (id: string) => `teams/${id}`, 200],
      ["PATCH", (id: string) => `teams/${id}`, 200],
      ["POST", (id: string) => `teams/${id}/authentication-token`, 201],
      ["GET", (id: string) => `teams/${id}/authentication-token`, 200],
      ["GET", (id: string) => `authentication-tokens/${id}`, 200],
      ["DELETE", (id: string) => `authentication-tokens/${id}`, 204],
    ] as const) {
      expect([method, path(team), (await api(method, path(team), { token })).status]).toEqual([
        method,
        path(team),
        allowed,
      ]);
      expect((await api(method, path(foreign), { token })).status).toBe(404);
    }
    expect((await api("DELETE", `authentication-tokens/${own.id}`, { token })).status).toBe(204);
    expect((await api("DELETE", `authentication-tokens/${theirs.id}`, { token })).status).toBe(404);
    expect(idsOf(await list(root, "other", "team-tokens"))).toEqual([theirs.id]);
    expect((await api("GET", "organizations/acme", { token })).status).toBe(404);
  });

  it("can name a team, and single out its tokens", async () => {
    const token = await tokenUnder(
      root,
      `
      path "organizations/acme/teams/${team}/authentication-tokens" { capabilities = ["update"] }
      path "organizations/+/teams/+/authentication-tokens/*" { capabilities = ["read"] }`,
    );
    const made = await describeToken(token, team, "by policy");
    expect((await api("GET", `authentication-tokens/${made.id}`, { token })).status).toBe(200);
    expect((await api("DELETE", `authentication-tokens/${made.id}`, { token })).status).toBe(404);
    const body = resource("", { description: "x" });
    expect((await api("POST", `teams/${foreign}/authentication-tokens`, { token, body })).status).toBe(404);
    expect((await api("POST", `teams/${team}/authentication-token`, { token })).status).toBe(404);
  });

  it("can deny what a policy for the team's own path grants", async () => {
    const token = await tokenUnder(
      root,
      `
      path "teams/*" { capabilities = ["update", "read"] }
      path "organizations/other/teams/*" { capabilities = ["deny"] }`,
    );
    expect((await api("POST", `teams/${team}/authentication-token`, { token })).status).toBe(201);
    expect((await api("POST", `teams/${foreign}/authentication-token`, { token })).status).toBe(404);
  });

  it("that denies the tokens of a team denies them by their ids too", async () => {
    const described = await describeToken(root, foreign, "denied");
    await generateToken(root, foreign);
    const allowed = `path "authentication-tokens/*" { capabilities = ["read", "update", "delete"] }`;
    for (const denied of [
      `teams/${foreign}/*`,
      `teams/${foreign}/authentication-token`,
      `teams/${foreign}/authentication-tokens/+`,
      "teams/+/authentication-token",
      "organizations/other/teams/+/authentication-token",
    ]) {
      const token = await tokenUnder(root, `${allowed} path "${denied}" { capabilities = ["deny"] }`);
      const path = `authentication-tokens/${described.id}`;
      expect([denied, (await api("GET", path, { token })).status]).toEqual([denied, 404]);
      expect((await api("DELETE", path, { token })).status).toBe(404);
      const asked = await call("POST", "sys/capabilities", { token: root, body: { token, paths: [path] } });
      expect(asked.body.data[path]).toEqual(["deny"]);
    }
    const other = await tokenUnder(root, `${allowed} path "teams/${team}/*" { capabilities = ["deny"] }`);
    const path = `authentication-tokens/${described.id}`;
    expect((await api("GET", path, { token: other })).status).toBe(200);
    const rotate = await tokenUnder(root, `${allowed} path "teams/+/authentication-token" { capabilities = ["deny"] }`);
    expect((await api("POST", `${path}/actions/rotate`, { token: rotate })).status).toBe(404);
    expect((await api("DELETE", path, { token: root })).status).toBe(204);
  });

  it("that denies tokens of a team denies them in a list of tokens to delete", async () => {
    const described = await describeToken(root, foreign, "listed");
    const body = { data: [{ type: "authentication-tokens", id: described.id }] };
    const path = "organizations/other/team-tokens";
    const allowed = `path "organizations/other/*" { capabilities = ["delete"] }`;
    for (const denied of [
      `teams/${foreign}/*`,
      "teams/+/authentication-token",
      "organizations/other/teams/+/authentication-token",
      `authentication-tokens/${described.id}`,
      "organizations/other/teams/+/authentication-tokens/*",
    ]) {
      const token = await tokenUnder(root, `${allowed} path "${denied}" { capabilities = ["deny"] }`);
      expect([denied, (await api("DELETE", path, { token, body })).status]).toEqual([denied, 404]);
    }
    const other = await tokenUnder(root, `${allowed} path "teams/${team}/*" { capabilities = ["deny"] }`);
    expect((await api("DELETE", path, { token: other, body })).status).toBe(204);
  });

  it("that denies the token of an organization denies it by its id too", async () => {
    const made = await api("POST", "organizations/other/authentication-token", { token: root });
    const path = `authentication-tokens/${made.body.data.id}`;
    const allowed = `path "authentication-tokens/*" { capabilities = ["read"] }`;
    const denied = `path "organizations/other/authentication-token" { capabilities = ["deny"] }`;
    expect((await api("GET", path, { token: await tokenUnder(root, allowed) })).status).toBe(200);
    expect((await api("GET", path, { token: await tokenUnder(root, `${allowed} ${denied}`) })).status).toBe(404);
  });

  it("gives sudo over the policies of its teams only", async () => {
    const token = await tokenUnder(root, `path "organizations/acme/teams/*" { capabilities = ["patch", "sudo"] }`);
    const body = resource("teams", { "token-policies": ["default"] });
    expect((await api("PATCH", `teams/${team}`, { token, body })).status).toBe(200);
    expect((await api("PATCH", `teams/${foreign}`, { token, body })).status).toBe(404);
  });

  it("shows in what the caller may do, and in its capabilities", async () => {
    const token = await tokenUnder(root, `path "organizations/acme/teams/*" { capabilities = ["read", "delete"] }`);
    await generateToken(root, team);
    const shown = await api("GET", `teams/${team}`, { token });
    expect(shown.body.data.attributes.permissions).toMatchObject({ "can-destroy": true });
    const paths = [`teams/${team}`, `teams/${team}/authentication-token`, `teams/${foreign}`, "teams/team-x"];
    const asked = await call("POST", "sys/capabilities", { token: root, body: { token, paths } });
    expect(paths.map((path) => asked.body.data[path])).toEqual([
      ["delete", "read"],
      ["delete", "read"],
      ["deny"],
      ["deny"],
    ]);
  });
});
