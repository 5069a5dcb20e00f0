import { describe, expect, it } from "vitest";
import { JSON_API } from "../../../src/api/json-api/dialect.ts";
import { tableOf } from "../../../src/app/route-tables.ts";
import { TABLES } from "../../../src/app/routes.ts";

describe("paths", () => {
  const isOfTeams = (path: string) => tableOf(TABLES, path)?.dialect === JSON_API;

  it.each(["ping", "account/details", "organizations", "organizations/a/teams", "teams/x", "authentication-tokens/x"])(
    "%s is a path of the teams API",
    (path) => expect(isOfTeams(path)).toBe(true),
  );

  it.each(["", "team", "sys/health", "auth/token/create", "pingx", "organizationx", "Teams/x", "v1/teams"])(
    "%s is no path of the teams API",
    (path) => expect(isOfTeams(path)).toBe(false),
  );
});
