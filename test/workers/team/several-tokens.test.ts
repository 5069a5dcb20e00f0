import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { teamRoute } from "../../../src/team/ids.ts";
import { MAX_TEAM_TOKENS } from "../../../src/team/rules/team-tokens.ts";
import { teamAt } from "../../../src/team/stubs.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { insertRows } from "../../support/storage-writer.ts";
import {
  api,
  createOrganization,
  createTeam,
  describeToken,
  errorOf,
  generateToken,
  idsOf,
  list,
  organizationWithTeam,
  resource,
  statusOf,
} from "../../support/teams.ts";

let root: string;
let organization: string;
let teamId: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(async () => {
  ({ organization, teamId } = await organizationWithTeam(root, "builders"));
});

const listed = async (query = "") => idsOf(await list(root, organization, `team-tokens?${query}`));
const remove = (ids: readonly string[], name = organization, token = root) =>
  api("DELETE", `organizations/${name}/team-tokens`, {
    token,
    body: { data: ids.map((id) => ({ type: "authentication-tokens", id })) },
  });

it("a team deletes no token for another organization", async () => {
  const { id, text } = await describeToken(root, teamId, "CI");
  await teamAt(bindings, teamRoute(teamId)).removeTokens("another", [id]);
  expect(await statusOf(text)).toBe(200);
});

describe("a token with a description", () => {
  it("201: is made beside the others, which stay valid", async () => {
    const plain = await generateToken(root, teamId);
    const first = await describeToken(root, teamId, "CI");
    const answer = await api("POST", `teams/${teamId}/authentication-tokens`, {
      token: root,
      body: resource("", { description: "", "expired-at": "2099-01-01T00:00:00Z" }),
    });
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject({
      id: expect.stringMatching(/^at-/),
      type: "authentication-tokens",
      attributes: {
        description: "",
        "expired-at": "2099-01-01T00:00:00Z",
        token: expect.stringMatching(/\.atlasv1\./),
      },
      relationships: { team: { data: { id: teamId, type: "teams" } } },
    });
    const texts = [plain.text, first.text, answer.body.data.attributes.token as string];
    expect(await Promise.all(texts.map(statusOf))).toEqual([200, 200, 200]);
    const shown = await api("GET", `authentication-tokens/${first.id}`, { token: root });
    expect(shown.body.data.attributes).toMatchObject({ description: "CI", token: null });
    expect([...(await listed())].sort()).toEqual([plain.id, first.id, answer.body.data.id].sort());
  });

  it("is left alone by the path without one, which replaces, shows and deletes its own", async () => {
    const described = await describeToken(root, teamId, "CI");
    expect((await api("GET", `teams/${teamId}/authentication-token`, { token: root })).status).toBe(404);
    expect((await api("DELETE", `teams/${teamId}/authentication-token`, { token: root })).status).toBe(404);
    const first = await generateToken(root, teamId);
    const second = await generateToken(root, teamId);
    expect((await api("GET", `authentication-tokens/${teamId}`, { token: root })).body.data.id).toBe(second.id);
    expect(await Promise.all([described, first, second].map(({ text }) => statusOf(text)))).toEqual([200, 401, 200]);
    expect((await api("DELETE", `teams/${teamId}/authentication-token`, { token: root })).status).toBe(204);
    expect(await Promise.all([described, second].map(({ text }) => statusOf(text)))).toEqual([200, 401]);
    expect(await listed()).toEqual([described.id]);
  });

  it("422: a description that another token of the team has, by the words that clients know; not of another team", async () => {
    const { id } = await describeToken(root, teamId, "CI");
    const path = `teams/${teamId}/authentication-tokens`;
    const again = () => api("POST", path, { token: root, body: resource("", { description: "CI" }) });
    const answer = await again();
    expect(answer.status).toBe(422);
    expect(errorOf(answer)).toEqual({
      status: "422",
      title: "invalid attributes",
      detail: "Validation failed: Description has already been taken",
      source: { pointer: "/data/attributes/description" },
    });
    await describeToken(root, await createTeam(root, organization, "others"), "CI");
    await describeToken(root, teamId, "ci");
    await api("DELETE", `authentication-tokens/${id}`, { token: root });
    expect((await again()).status).toBe(201);
    const both = await Promise.all(
      [1, 2].map(() => api("POST", path, { token: root, body: resource("", { description: "race" }) })),
    );
    expect(both.map((one) => one.status).sort()).toEqual([201, 422]);
  });

  it.each([
    ["none", {}],
    ["null", { description: null }],
    ["a number", { description: 1 }],
    ["one that is too long", { description: "x".repeat(256) }],
    ["one with a line break", { description: "a\nb" }],
  ])("422: %s as a description", async (_, attributes) => {
    const answer = await api("POST", `teams/${teamId}/authentication-tokens`, {
      token: root,
      body: resource("authentication-tokens", attributes),
    });
    expect(answer.status).toBe(422);
    expect(errorOf(answer).source).toEqual({ pointer: "/data/attributes/description" });
    expect(await listed()).toEqual([]);
  });

  it("404: of a team that does not exist, or that the caller may not reach", async () => {
    const body = resource("", { description: "x" });
    const path = `teams/${teamId}/authentication-tokens`;
    expect((await api("POST", "teams/team-AAAAAAAAAAAAAAAA/authentication-tokens", { token: root, body })).status).toBe(
      404,
    );
    await call("PUT", "sys/policies/acl/one-only", {
      token: root,
      body: { policy: `path "teams/+/authentication-token" { capabilities = ["update"] }` },
    });
    const { client_token: token } = await createToken(root, { policies: ["one-only"] });
    expect((await api("POST", path, { token, body })).status).toBe(404);
  });

  it("has its own last use", async () => {
    const a = await describeToken(root, teamId, "a");
    const b = await describeToken(root, teamId, "b");
    const used = async (id: string) =>
      (await api("GET", `authentication-tokens/${id}`, { token: root })).body.data.attributes["last-used-at"];
    expect(await statusOf(a.text)).toBe(200);
    expect(await used(a.id)).not.toBeNull();
    expect(await used(b.id)).toBeNull();
    expect(await listed("sort=last-used-at")).toEqual([a.id, b.id]);
  });

  it("may look at itself, and at no other of its team", async () => {
    const a = await describeToken(root, teamId, "a");
    const b = await describeToken(root, teamId, "b");
    expect((await api("GET", `authentication-tokens/${a.id}`, { token: a.text })).status).toBe(200);
    expect((await api("GET", `authentication-tokens/${b.id}`, { token: a.text })).status).toBe(404);
    expect((await api("DELETE", `authentication-tokens/${b.id}`, { token: a.text })).status).toBe(404);
  });

  it(`422: more than ${MAX_TEAM_TOKENS} of one team; the one without a description can still be replaced`, async () => {
    await generateToken(root, teamId);
    const others = Array.from({ length: MAX_TEAM_TOKENS - 1 }, (_, at) => at + 1);
    await insertRows(
      teamAt(bindings, teamRoute(teamId)),
      "tokens",
      others.map((i) => ({
        ...{ token_id: `at-${i}`, verifier: new TextEncoder().encode(`${i}`), slot: `=${i}`, record: "{}" },
      })),
    );
    const answer = await api("POST", `teams/${teamId}/authentication-tokens`, {
      token: root,
      body: resource("", { description: "one more" }),
    });
    expect(answer.status).toBe(422);
    expect(errorOf(answer).detail).toContain(`${MAX_TEAM_TOKENS} tokens`);
    await generateToken(root, teamId);
  });
});

describe("the list of tokens", () => {
  it("is of all tokens of all teams, sorted and searched alike", async () => {
    const other = await createTeam(root, organization, "Other Team");
    const late = await describeToken(root, teamId, "late", "2099-01-02T00:00:00Z");
    const soon = await describeToken(root, teamId, "soon", "2098-01-01T00:00:00Z");
    const never = await describeToken(root, other, "never");
    const plain = await generateToken(root, other, "2099-01-01T00:00:00Z");
    expect(await listed()).toEqual([soon.id, plain.id, late.id, never.id]);
    expect(await listed("sort=-expired-at")).toEqual([never.id, late.id, plain.id, soon.id]);
    expect([...(await listed("sort=team-name&page[size]=2"))].sort()).toEqual([late.id, soon.id].sort());
    expect(await listed("q=ER TE&sort=expired-at")).toEqual([plain.id, never.id]);
    expect(await listed("q=build&sort=-expired-at")).toEqual([late.id, soon.id]);
    expect(await listed("q=ers&page[size]=1&page[number]=2")).toEqual([late.id]);
    const page = await list(root, organization, "team-tokens?page[size]=1&page[number]=2");
    expect(page.body.data[0]?.attributes).toMatchObject({ "team-name": "Other Team", description: null });
    expect(page.body.meta.pagination).toMatchObject({ "total-count": 4 });
  });

  it("follows the new name of a team, and loses the tokens of a deleted one", async () => {
    const other = await createTeam(root, organization, "middle");
    const between = await describeToken(root, other, "x");
    const ids = [(await describeToken(root, teamId, "a")).id, (await describeToken(root, teamId, "b")).id];
    expect((await listed("sort=team-name")).at(-1)).toBe(between.id);
    await api("PATCH", `teams/${teamId}`, { token: root, body: resource("teams", { name: "zz top" }) });
    expect((await listed("sort=team-name"))[0]).toBe(between.id);
    expect([...(await listed("q=zz"))].sort()).toEqual([...ids].sort());
    expect(await listed("q=builders")).toEqual([]);
    const [first] = (await list(root, organization, "team-tokens?q=zz")).body.data;
    expect(first?.attributes["team-name"]).toBe("zz top");
    await api("DELETE", `teams/${teamId}`, { token: root });
    expect(await listed()).toEqual([between.id]);
  });
});

describe("deletion of several tokens", () => {
  it("204: of several teams at once", async () => {
    const other = await createTeam(root, organization, "other");
    const gone = [
      await describeToken(root, teamId, "a"),
      await generateToken(root, teamId),
      await describeToken(root, other, "a"),
    ];
    const kept = await describeToken(root, other, "b");
    const answer = await remove([...gone.map(({ id }) => id), gone[0]?.id ?? ""]);
    expect([answer.status, answer.body]).toEqual([204, null]);
    expect(await Promise.all([...gone, kept].map(({ text }) => statusOf(text)))).toEqual([401, 401, 401, 200]);
    expect(await listed()).toEqual([kept.id]);
  });

  it("204: of identifiers without a type, or with that of lists", async () => {
    const [untyped, ofList] = [await describeToken(root, teamId, "a"), await describeToken(root, teamId, "b")];
    const body = { data: [{ id: untyped.id }, { type: "team-tokens", id: ofList.id }] };
    const answer = await api("DELETE", `organizations/${organization}/team-tokens`, { token: root, body });
    expect(answer.status).toBe(204);
    expect(await Promise.all([untyped, ofList].map(({ text }) => statusOf(text)))).toEqual([401, 401]);
  });

  it("422: with an id that is none of the organization's, and then none is deleted", async () => {
    const { id, text } = await describeToken(root, teamId, "a");
    const elsewhere = await createOrganization(root, `${organization}-elsewhere`);
    const foreign = await describeToken(root, await createTeam(root, elsewhere, "team"), "a");
    const deleted = await describeToken(root, teamId, "gone");
    await api("DELETE", `authentication-tokens/${deleted.id}`, { token: root });
    for (const unknown of [foreign.id, deleted.id, "at-AAAAAAAAAAAAAAAA", "x", teamId]) {
      const answer = await remove([id, unknown]);
      expect(answer.status).toBe(422);
      expect(errorOf(answer)).toMatchObject({ source: { pointer: "/data/1/id" } });
      expect(JSON.stringify(answer.body)).not.toContain(unknown === "x" ? '"x"' : unknown);
    }
    expect(await Promise.all([text, foreign.text].map(statusOf))).toEqual([200, 200]);
    expect(await listed()).toEqual([id]);
  });

  it.each([
    ["no list", { data: { type: "authentication-tokens", id: "at-x" } }],
    ["nothing in it", { data: [] }],
    ["too much", { data: Array.from({ length: 101 }, (_, i) => ({ type: "authentication-tokens", id: `at-${i}` })) }],
    ["another type", { data: [{ type: "teams", id: "at-x" }] }],
    ["no id", { data: [{ type: "authentication-tokens" }] }],
    ["no data", {}],
  ])("422: %s", async (_, body) => {
    const { text } = await describeToken(root, teamId, "a");
    const answer = await api("DELETE", `organizations/${organization}/team-tokens`, { token: root, body });
    expect(answer.status).toBe(422);
    expect(errorOf(answer).source).toEqual({ pointer: "/data" });
    expect(await statusOf(text)).toBe(200);
  });

  it("404: in an organization that does not exist, or that the caller may not reach", async () => {
    const { id, text } = await describeToken(root, teamId, "a");
    expect((await remove([id], "nowhere")).status).toBe(404);
    expect((await remove([id], organization.toUpperCase())).status).toBe(404);
    const { client_token: token } = await createToken(root, { policies: ["default"] });
    expect((await remove([id], organization, token)).status).toBe(404);
    expect(await statusOf(text)).toBe(200);
  });

  it("415: a body of another type", async () => {
    const answer = await api("DELETE", `organizations/${organization}/team-tokens`, {
      token: root,
      body: { data: [] },
      headers: { "Content-Type": "application/json" },
    });
    expect(answer.status).toBe(415);
  });
});
