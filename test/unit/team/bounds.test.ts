import { describe, expect, it } from "vitest";
import { organizationNameProblem, teamNameProblem } from "../../../src/team/rules/names.ts";
import { NEW_ORGANIZATION, ORGANIZATION_CHANGE } from "../../../src/team/rules/organization-settings.ts";
import { NEW_TEAM, TEAM_CHANGE } from "../../../src/team/rules/team-settings.ts";
import { descriptionProblem } from "../../../src/team/rules/team-tokens.ts";
import { readValues } from "../../../src/wire/field-schema.ts";

const text = (length: number) => "x".repeat(length);
const email = (length: number) => `${text(length - 4)}@x.y`;
const policies = (length: number) => Array.from({ length }, (_, i) => `p${i}`);

type Body = Record<string, unknown>;
const newTeam = (body: Body) => readValues(NEW_TEAM, body).ok;
const team = (body: Body) => readValues(TEAM_CHANGE, body).ok;
const newOrganization = (body: Body) => readValues(NEW_ORGANIZATION, { name: "a", email: "a@b", ...body }).ok;
const organization = (body: Body) => readValues(ORGANIZATION_CHANGE, body).ok;

describe("the bounds of teams and organizations", () => {
  it.each<[string, (body: Body) => boolean, unknown, unknown]>([
    ["name", newTeam, text(90), text(91)],
    ["name", team, text(90), text(91)],
    ["sso-team-id", team, text(256), text(257)],
    ["token-policies", team, policies(64), policies(65)],
    ["name", newOrganization, text(90), text(91)],
    ["email", newOrganization, email(254), email(255)],
    ["email", organization, email(254), email(255)],
    ["owners-team-saml-role-id", organization, text(256), text(257)],
    ["session-timeout", organization, 5_256_000, 5_256_001],
    ["session-timeout", organization, 1, 0],
    ["session-remember", organization, 5_256_000, 5_256_001],
    ["session-remember", organization, 1, 0],
    ["default-team-token-ttl-ms", organization, 3_153_600_000_000, 3_153_600_000_001],
    ["default-team-token-ttl-ms", organization, 1, 0],
  ])("%s: row %#", (field, isRead, most, tooMuch) => {
    expect(isRead({ [field]: most })).toBe(true);
    expect(isRead({ [field]: tooMuch })).toBe(false);
  });

  it.each([
    [organizationNameProblem, 90],
    [teamNameProblem, 90],
    [descriptionProblem, 255],
  ])("%o: at most %i characters", (problemOf, most) => {
    expect(problemOf(text(most))).toBeNull();
    expect(problemOf(text(most + 1))).toBe(`is too long (at most ${most} characters)`);
  });
});
