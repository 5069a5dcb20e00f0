import { describe, expect, it } from "vitest";
import { type Organization, type TeamToken, teamTokenName } from "../../../console/teams/resources.ts";
import { newEnd, usualEnd } from "../../../console/teams/usual-end.ts";

const organization = (settings: Partial<Organization> = {}): Organization =>
  ({ name: "acme", email: "admin@example.com", ...settings }) as Organization;

const token = (fields: Partial<TeamToken> = {}): TeamToken =>
  ({
    description: null,
    "team-name": "platform",
    "created-at": "2026-11-01T00:00:00Z",
    "expired-at": null,
    ...fields,
  }) as TeamToken;

const DAY_MS = 86_400_000;

describe("the end of a team's token that names none", () => {
  it.each([
    ["not known", null, "as the organization says, else never"],
    ["nothing is set", organization(), null],
    ["a lifetime", organization({ "default-team-token-ttl-ms": DAY_MS }), "after 1d, as the organization says"],
    [
      "a lifetime within a greatest one",
      organization({ "default-team-token-ttl-ms": DAY_MS, "max-ttl-enabled": true }),
      "after 1d, as the organization says, within its greatest lifetime",
    ],
    ["24 months", organization({ "end-tokens-after-24-months": true }), "after 24 months, as the organization says"],
    [
      "a greatest lifetime",
      organization({ "max-ttl-enabled": true }),
      "with the greatest lifetime of the organization",
    ],
  ])("follows the organization: %s", (_, of, end) => {
    expect(usualEnd(of)).toBe(end);
  });

  it("is for a rotated token as long as the old one was to live, or as for any other", () => {
    expect(newEnd(token({ "expired-at": "2026-11-03T00:00:00Z" }), null)).toMatch(/^after 2d, as long as the old one/);
    expect(newEnd(token(), organization())).toBe("never, like the old one");
    expect(newEnd(token(), null)).toBe("as the organization says, else never");
  });
});

it("a team's token is named by its description and its team", () => {
  expect(teamTokenName(token({ description: "laptop" }))).toBe("laptop of platform");
  expect(teamTokenName(token())).toBe("the token without a description of platform");
});
