import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Api } from "../../../console/api.ts";
import { matching } from "../../../console/search/search-result.ts";
import { groupsIn, namesIn } from "../../../console/search/searchable-names.ts";

const ANSWERS: Readonly<Record<string, unknown>> = {
  "/v1/identity/entity/id": { key_info: { e1: { name: "Ann", disabled: false, aliases: [] } } },
  "/v1/identity/group/id": { key_info: { g1: { name: "crew" } } },
  "/v1/sys/policies/acl": { keys: ["web"] },
  "/v1/sys/auth": { "ci/": { type: "jwt", description: "", accessor: "auth_jwt_1", uuid: "u1" } },
  "/v1/auth/ci/role": { keys: ["build"] },
  "/api/v2/organizations": [{ id: "acme", attributes: { name: "acme" } }],
  "/api/v2/organizations/acme/teams": [{ id: "team-A", attributes: { name: "platform" } }],
  "/api/v2/organizations/acme/team-tokens": [
    {
      id: "at-B",
      attributes: { "team-name": "platform", description: "release pipeline" },
      relationships: { team: { data: { id: "team-A", type: "teams" } } },
    },
  ],
};

beforeEach(() => {
  vi.stubGlobal("fetch", async (url: string | URL) => {
    const { pathname } = new URL(String(url), "https://grove.example.com");
    return Response.json({ data: ANSWERS[pathname] ?? {} });
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

it.each([
  ["identity/entity/id/e1", "/ui/identity?id=e1"],
  ["identity/entity/name/Ann", "/ui/identity?id=e1"],
  ["identity/group/id/g1", "/ui/identity?part=groups&name=crew"],
  ["sys/policies/acl/web", "/ui/policies/web"],
  ["sys/policy/web", "/ui/policies/web"],
  ["sys/auth/ci", "/ui/methods/ci"],
  ["auth/ci/role/build", "/ui/methods/ci?part=roles&name=build"],
  ["organizations/acme", "/ui/teams/acme"],
  ["teams/team-A", "/ui/teams/acme/team-A"],
  ["at-B", "/ui/teams/acme/team-A"],
  ["Release pipe", "/ui/teams/acme/team-A"],
])("%s leads to what it names", async (path, page) => {
  const api = new Api("t");
  expect(matching([...(await namesIn(api)), ...(await groupsIn(api))], path).map(({ href }) => href)).toEqual([page]);
});
