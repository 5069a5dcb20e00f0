import { describe, expect, it } from "vitest";
import { type Leeways, validityProblem } from "../../../../src/methods/jwt/validity-times.ts";

const NOW = 1_795_000_000;
const DEFAULT: Leeways = { expiration: 0, notBefore: 0, clockSkew: 0 };
const NONE: Leeways = { expiration: -1, notBefore: -1, clockSkew: -1 };

const good = (claims: Record<string, unknown>, leeways = DEFAULT) =>
  validityProblem(claims, leeways, NOW * 1000) === null;

describe("the times of a token", () => {
  it.each([
    [{ exp: NOW }, NONE, true],
    [{ exp: NOW - 1 }, NONE, false],
    [{ exp: NOW - 60 }, DEFAULT, true],
    [{ exp: NOW - 61 }, DEFAULT, false],
    [{ nbf: NOW + 60, exp: NOW + 900 }, DEFAULT, true],
    [{ nbf: NOW + 61, exp: NOW + 900 }, DEFAULT, false],
    [{ iat: NOW + 61, nbf: NOW - 10, exp: NOW + 900 }, DEFAULT, false],
    // Without nbf and iat there is no beginning to check, unless the role derives one from the end.
    [{ exp: NOW + 86_400 }, DEFAULT, true],
    [{ exp: NOW + 86_400 }, NONE, true],
    [{ exp: NOW + 86_400 }, { ...DEFAULT, notBefore: 3600 }, false],
    [{ exp: NOW + 3600 }, { ...DEFAULT, notBefore: 3600 }, true],
    // Without an end it ends a leeway after it began, and does not live for ever.
    [{ iat: NOW - 149 }, { ...DEFAULT, clockSkew: -1 }, true],
    [{ iat: NOW - 151 }, { ...DEFAULT, clockSkew: -1 }, false],
    [{ iat: NOW - 1 }, NONE, false],
    [{ iat: NOW - 3000 }, { ...DEFAULT, expiration: 3600 }, true],
  ])("%j with the leeways %j", (claims, leeways, accepted) => {
    expect(good(claims, leeways)).toBe(accepted);
  });

  it("must be there, as numbers", () => {
    expect(good({})).toBe(false);
    expect(good({ exp: null })).toBe(false);
    for (const exp of ["9999999999", Number.NaN, Number.POSITIVE_INFINITY, -1, {}, [NOW + 10], true]) {
      expect(good({ iat: NOW, exp })).toBe(false);
    }
  });
});
