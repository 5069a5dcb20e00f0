import { describe, expect, it } from "vitest";
import { organizationNameProblem, teamNameProblem } from "../../../src/team/rules/names.ts";
import { isAlive, NO_RULES, planRotation, readExpiry } from "../../../src/team/rules/token-lifetime.ts";
import { readTokenOrder } from "../../../src/team/rules/token-order.ts";

const NOW = Date.UTC(2030, 0, 1);

describe("expired-at", () => {
  it.each([undefined, null])("%s: never", (value) => {
    expect(readExpiry(value, NOW)).toEqual({ ok: true, value: { expiresAt: null, expiredAt: null } });
  });

  it.each([
    ["2030-01-01T00:00:01Z", 1000],
    ["2030-01-01T00:00:00.001Z", 1],
    ["2030-01-01T00:00:00.0019Z", 1],
    ["2032-02-29T00:00:00Z", Date.UTC(2032, 1, 29) - NOW],
    ["9999-12-31T23:59:59.999999999Z", Date.UTC(9999, 11, 31, 23, 59, 59, 999) - NOW],
  ])("%s is taken as it is", (text, after) => {
    expect(readExpiry(text, NOW)).toEqual({ ok: true, value: { expiresAt: NOW + after, expiredAt: text } });
  });

  it.each([
    "2030-01-01T00:00:00Z",
    "2030-01-01T00:00:00.0009Z",
    "2029-12-31T23:59:59Z",
    "2031-02-29T00:00:00Z",
    "2031-04-31T00:00:00Z",
    "2031-13-01T00:00:00Z",
    "2031-01-01T24:00:00Z",
    "2031-01-01T23:59:60Z",
    "2031-01-01t00:00:00z",
    "2031-01-01 00:00:00Z",
    "2031-01-01T00:00:00+00:00",
    "2031-01-01T00:00:00",
    "2031-01-01T00:00:00.Z",
    "2031-01-01T00:00:00.1234567890Z",
    "2031-1-1T00:00:00Z",
    "+002031-01-01T00:00:00Z",
    " 2031-01-01T00:00:00Z",
    "2031-01-01T00:00:00Z\n",
    "tomorrow",
    "",
    1_956_528_000,
    true,
    {},
  ])("%s is refused", (value) => {
    expect(readExpiry(value, NOW).ok).toBe(false);
  });
});

describe("names", () => {
  it.each(["a", "A-z_0", "a".repeat(90)])("%s is one of an organization", (name) =>
    expect(organizationNameProblem(name)).toBeNull(),
  );

  it.each(["", "a b", "a/b", "a.b", "..", "%41", "a\u0000", "\u00e9", "a".repeat(91), 1, null, undefined, ["a"]])(
    "%s is none of an organization",
    (name) => expect(organizationNameProblem(name)).not.toBeNull(),
  );

  it.each(["a", "foo bar", "a/b:c@d.e", "a  b", "a".repeat(90)])("%s is one of a team", (name) =>
    expect(teamNameProblem(name)).toBeNull(),
  );

  it.each(["", " ", " a", "a ", "a,b", "a\tb", "a\n", "%41", "\u00e9", "a".repeat(91), 1, null, undefined])(
    "%s is none of a team",
    (name) => expect(teamNameProblem(name)).not.toBeNull(),
  );
});

describe("orders", () => {
  it("are those of the interface, either way; by expiry when none is named", () => {
    expect(readTokenOrder(undefined)).toEqual({ sort: "expired-at", reverse: false });
    expect(readTokenOrder("")).toEqual({ sort: "expired-at", reverse: false });
    expect(readTokenOrder("-created-by")).toEqual({ sort: "created-by", reverse: true });
    for (const text of ["-", "--team-name", "Team-Name", "team-name,", "toString"])
      expect(readTokenOrder(text)).toBeNull();
  });
});

describe("a rotation", () => {
  const HOUR = 3_600_000;
  const token = {
    tokenId: "at-new",
    description: null,
    createdAt: NOW,
    createdBy: { type: "users", id: "user-1", name: "ada" } as const,
    lastUsedAt: null,
    expiresAt: null,
    expiredAt: null,
  };
  const old = { ...token, tokenId: "at-old", createdAt: NOW - HOUR, description: "ci", expiresAt: NOW + HOUR };

  it("passes on the description, and the lifetime unless the new token has an end", () => {
    const planned = planRotation(NO_RULES, old, token, 0, NOW);
    expect(planned).toMatchObject({
      value: { token: { description: "ci", createdAt: NOW, expiresAt: NOW + 2 * HOUR } },
    });
    const chosen = planRotation(NO_RULES, old, { ...token, expiresAt: NOW + 5 }, 0, NOW);
    expect(chosen).toMatchObject({ value: { token: { expiresAt: NOW + 5 } } });
  });

  it("ends the old token with the overlap, and never later than before", () => {
    const retired = { rotatedAt: NOW, rotatedTo: "at-new" };
    const soon = planRotation(NO_RULES, old, token, 1000, NOW);
    expect(soon).toMatchObject({ value: { retired: { ...retired, expiresAt: NOW + 1000 } } });
    const late = planRotation(NO_RULES, old, token, 9 * HOUR, NOW);
    expect(late).toMatchObject({ value: { retired: { ...retired, expiresAt: NOW + HOUR } } });
  });

  it("stays within the maximum lifetime of the organization", () => {
    const rules = { defaultMs: null, maxMs: HOUR };
    expect(planRotation(rules, old, token, 0, NOW)).toMatchObject({ value: { token: { expiresAt: NOW + HOUR } } });
    for (const expiresAt of [null, NOW + 2 * HOUR]) {
      const made = { createdAt: NOW, expiresAt };
      expect([isAlive(rules, made, NOW + HOUR - 1), isAlive(rules, made, NOW + HOUR)]).toEqual([true, false]);
    }
    expect(planRotation(rules, old, { ...token, expiresAt: NOW + HOUR }, 0, NOW).ok).toBe(true);
    expect(planRotation(rules, old, { ...token, expiresAt: NOW + HOUR + 1 }, 0, NOW).ok).toBe(false);
  });
});
