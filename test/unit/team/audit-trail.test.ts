import { expect, it } from "vitest";
import { type TrailLine, trailResource } from "../../../src/team/rules/audit-trail.ts";

it.each<[TrailLine["operation"], string, object]>([
  ["patch", "organizations/acme", { id: "acme", type: "organization", action: "update" }],
  ["update", "organizations/acme/teams", { id: "acme", type: "team", action: "create" }],
  ["patch", "organizations/acme/token-ttl-policies", { id: "acme", type: "token_ttl_policy", action: "update" }],
  ["delete", "authentication-tokens/at-x", { id: "at-x", type: "authentication_token", action: "destroy" }],
  [
    "update",
    "authentication-tokens/at-x/actions/rotate",
    { id: "at-x", type: "authentication_token", action: "rotate" },
  ],
])("%s %s changes a resource of the trail", (operation, path, resource) => {
  const line: TrailLine = { time: "2026-01-01T00:00:00.000Z", request_id: "request", operation, path };
  expect(trailResource(line)).toEqual(resource);
});

it("names the token that was changed in the place of its collection", () => {
  const path = "teams/team-x/authentication-token";
  const line: TrailLine = { time: "", request_id: "", operation: "delete", path, target_accessor: "at-x" };
  expect(trailResource(line)).toEqual({ id: "at-x", type: "authentication_token", action: "destroy" });
});
