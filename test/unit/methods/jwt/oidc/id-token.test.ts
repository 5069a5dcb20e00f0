import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  accessTokenProblem,
  ageProblem,
  clientProblem,
  nonceProblem,
} from "../../../../../src/methods/jwt/oidc/id-token.ts";

const NOW = Date.parse("2026-05-01T12:00:00Z");

describe("an ID token", () => {
  it.each([
    [{ aud: "me" }, true],
    [{ aud: ["me"] }, true],
    [{ aud: ["me"], azp: "me" }, true],
    [{ aud: ["me", "api"], azp: "me" }, true],
    [{ aud: ["me", "api"] }, false],
    [{ aud: ["me", "api"], azp: "api" }, false],
    [{ aud: "me", azp: "other" }, false],
    [{ aud: "me", azp: null }, false],
    [{ aud: "other" }, false],
    [{ aud: ["other", "api"], azp: "me" }, false],
    [{ aud: [["me"]] }, false],
    [{}, false],
  ])("with %j is for the client `me`: %s", (claims, good) => {
    expect(clientProblem(claims, "me") === null).toBe(good);
  });

  it.each([
    ["n", true],
    ["N", false],
    ["nn", false],
    ["", false],
    [undefined, false],
    [["n"], false],
    [1, false],
  ])("with the nonce %j answers the login with the nonce `n`: %s", (nonce, good) => {
    expect(nonceProblem({ nonce }, "n") === null).toBe(good);
  });

  it.each([
    ["RS256", "sha256"],
    ["ES384", "sha384"],
    ["PS512", "sha512"],
    ["EdDSA", "sha512"],
  ] as const)("by %s has half of the %s of its access token", (algorithm, name) => {
    const digest = createHash(name).update("access").digest();
    const half = digest.subarray(0, digest.length / 2).toString("base64url");
    expect(accessTokenProblem({ at_hash: half }, "access", algorithm)).toBeNull();
    expect(accessTokenProblem({}, "access", algorithm)).toBeNull();
    for (const at_hash of [digest.toString("base64url"), half.slice(1), "", null, 1]) {
      expect(accessTokenProblem({ at_hash }, "access", algorithm)).not.toBeNull();
    }
    expect(accessTokenProblem({ at_hash: half }, "", algorithm)).not.toBeNull();
  });

  it.each([
    [0, undefined, true],
    [600, NOW / 1000 - 600, true],
    [600, NOW / 1000 - 660, true],
    [600, NOW / 1000 - 661, false],
    [600, NOW / 1000 + 60, true],
    [600, NOW / 1000 + 61, false],
    [600, undefined, false],
    [600, "now", false],
    [600, Number.NaN, false],
  ])("of a role with max_age %i may have the auth_time %j: %s", (maxAge, auth_time, good) => {
    expect(ageProblem({ auth_time }, maxAge, NOW) === null).toBe(good);
  });
});
