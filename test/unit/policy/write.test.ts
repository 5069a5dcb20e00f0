import { describe, expect, test } from "vitest";
import { parseAbsoluteTime } from "../../../src/base/clock.ts";
import { decodePolicyText, policyExpiry } from "../../../src/policy/parse.ts";
import { checkAndSetProblem } from "../../../src/system/policies.ts";
import { NOW } from "./helpers.ts";

describe("check and set", () => {
  const required = "check-and-set parameter required for this call";
  const exists = "check-and-set parameter set to -1 on existing entry";
  const mismatch = "check-and-set parameter did not match the current version";

  test.each([
    [null, { cas: null, casRequired: false }, null],
    [null, { cas: null, casRequired: true }, required],
    [null, { cas: 3, casRequired: false }, mismatch],
    [null, { cas: -2, casRequired: false }, mismatch],
    [null, { cas: 0, casRequired: false }, null],
    [null, { cas: 0, casRequired: true }, null],
    [null, { cas: -1, casRequired: true }, null],
    [{ version: 1, casRequired: false }, { cas: null, casRequired: false }, null],
    [{ version: 1, casRequired: true }, { cas: null, casRequired: false }, required],
    [{ version: 1, casRequired: true }, { cas: -1, casRequired: false }, exists],
    [{ version: 1, casRequired: true }, { cas: 1, casRequired: false }, null],
    [{ version: 1, casRequired: false }, { cas: 0, casRequired: false }, mismatch],
    [{ version: 2, casRequired: false }, { cas: 1, casRequired: false }, mismatch],
  ])("stored %j, write %j: %s", (stored, write, problem) => {
    expect(checkAndSetProblem(stored, write)).toBe(problem);
  });
});

describe("expiration of a policy", () => {
  const elapsed = "refusing to update policy as expiration time has already elapsed";

  test.each([
    ["", "", { ok: true, value: null }],
    ["", "1h", { ok: true, value: NOW + 3_600_000 }],
    ["", "0", { ok: true, value: null }],
    ["2027-03-01T12:00:01Z", "", { ok: true, value: NOW + 1000 }],
    [String(NOW / 1000 + 5), "", { ok: true, value: NOW + 5000 }],
    ["2027-03-01T12:00:00Z", "", { ok: false, error: elapsed }],
    ["1", "", { ok: false, error: elapsed }],
    ["", "-5s", { ok: false, error: elapsed }],
    ["1", "1h", { ok: false, error: "cannot supply both 'expiration' and 'ttl' for policies" }],
    ["soon", "", { ok: false, error: "invalid expiration time: neither RFC 3339 nor seconds since 1970" }],
    ["", "soon", { ok: false, error: "ttl is not a duration" }],
  ])("expiration %j, ttl %j", (expiration, ttl, expected) => {
    expect(policyExpiry(expiration, ttl, NOW)).toEqual(expected);
  });
});

describe("a moment", () => {
  test.each([
    ["0", 0],
    ["1800000000", 1_800_000_000_000],
    ["2027-03-01T12:00:00Z", NOW],
    ["2027-03-01t12:00:00z", NOW],
    ["2027-03-01T12:00:00.123456789Z", NOW + 123],
    ["2027-03-01T14:30:00+02:30", NOW],
    ["2028-02-29T00:00:00Z", Date.UTC(2028, 1, 29)],
    ["2027-02-29T00:00:00Z", null],
    ["2027-02-30T00:00:00Z", null],
    ["2027-13-01T00:00:00Z", null],
    ["2027-03-01T25:00:00Z", null],
    ["2027-03-01", null],
    ["2027-03-01T12:00:00", null],
    ["2027-03-01 12:00:00Z", null],
    ["-1", null],
    ["1e9", null],
    ["", null],
    ["infinity", null],
    ["999999999999", null],
  ])("%j is %s", (text, time) => {
    expect(parseAbsoluteTime(text)).toBe(time);
  });
});

describe("base64 of a policy", () => {
  const policy = 'path "é/*" { policy = "read" }';
  const encoded = Buffer.from(policy).toString("base64");

  test.each([
    [encoded, policy],
    [encoded.replace(/(.{8})/g, "$1\r\n"), policy],
    [policy, policy],
    ["", ""],
    ["//abcdef", "//abcdef"],
    ["/w==", "/w=="],
    [`${encoded} `, `${encoded} `],
    [encoded.replace(/=+$/, "").slice(0, -1), encoded.replace(/=+$/, "").slice(0, -1)],
    ["a=b=", "a=b="],
  ])("%j", (text, decoded) => {
    expect(decodePolicyText(text)).toBe(decoded);
  });
});
