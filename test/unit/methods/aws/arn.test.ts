import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchesBoundArn, parsePrincipalArn, wildcardProblem } from "../../../../src/methods/aws/arn.ts";

const parse = (arn: string) => {
  const result = parsePrincipalArn(arn);
  return result.ok ? result.value : result.error;
};

describe("the ARN of a principal", () => {
  it.each([
    {
      arn: "arn:aws:iam::123456789012:user/p/q/Name",
      partition: "aws",
      accountId: "123456789012",
      type: "user",
      friendlyName: "Name",
      path: "p/q",
      sessionName: null,
      canonicalArn: "arn:aws:iam::123456789012:user/Name",
    },
    {
      arn: "arn:aws:iam::123456789012:role/Name",
      partition: "aws",
      accountId: "123456789012",
      type: "role",
      friendlyName: "Name",
      path: "",
      sessionName: null,
      canonicalArn: "arn:aws:iam::123456789012:role/Name",
    },
    {
      arn: "arn:aws-cn:sts::123456789012:assumed-role/Name/i-0123",
      partition: "aws-cn",
      accountId: "123456789012",
      type: "assumed-role",
      friendlyName: "Name",
      path: "",
      sessionName: "i-0123",
      canonicalArn: "arn:aws-cn:iam::123456789012:role/Name",
    },
    {
      arn: "arn:aws-us-gov:iam::123456789012:instance-profile/p/Name+=,.@-_",
      partition: "aws-us-gov",
      accountId: "123456789012",
      type: "instance-profile",
      friendlyName: "Name+=,.@-_",
      path: "p",
      sessionName: null,
      canonicalArn: "arn:aws-us-gov:iam::123456789012:instance-profile/Name+=,.@-_",
    },
  ])("is read from $arn", (expected) => {
    expect(parse(expected.arn)).toEqual(expected);
  });

  it.each([
    ["", /contains 1 colon-separated parts/],
    ["arn:aws:iam::123456789012", /contains 5/],
    ["arn:aws:iam::123456789012:role/a:b", /contains 7/],
    ["arm:aws:iam::123456789012:user/a", /does not begin/],
    ["arn:aws-mars:iam::123456789012:user/a", /unknown partition/],
    ["arn:toString:iam::123456789012:user/a", /unknown partition/],
    ["arn:aws:s3::123456789012:user/a", /not one of iam or sts/],
    ["arn:aws:iam:us-east-1:123456789012:user/a", /names no account/],
    ["arn:aws:iam::12345678901:user/a", /names no account/],
    ["arn:aws:iam::1234567890123:user/a", /names no account/],
    ["arn:aws:iam::*:user/a", /names no account/],
    ["arn:aws:iam::123456789012:root", /fewer than 2/],
    ["arn:aws:iam::123456789012:user", /fewer than 2/],
    ["arn:aws:sts::123456789012:federated-user/Bob", /unrecognized principal type/],
    ["arn:aws:iam::123456789012:constructor/Bob", /unrecognized principal type/],
    ["arn:aws:iam::123456789012:/Bob", /unrecognized principal type/],
    ["arn:aws:iam::123456789012:assumed-role/Name/s", /unrecognized principal type/],
    ["arn:aws:sts::123456789012:user/Name", /unrecognized principal type/],
    ["arn:aws:iam::123456789012:user/", /malformed name/],
    ["arn:aws:iam::123456789012:user//Name", /malformed name/],
    ["arn:aws:iam::123456789012:user/a b", /malformed name/],
    ["arn:aws:iam::123456789012:user/Name\n", /malformed name/],
    ["arn:aws:iam::123456789012:role/app/*", /malformed name/],
    ["arn:aws:sts::123456789012:assumed-role/Name", /malformed name/],
    ["arn:aws:sts::123456789012:assumed-role/Name/", /malformed name/],
    ["arn:aws:sts::123456789012:assumed-role/Name/s/t", /malformed name/],
    [`arn:aws:iam::123456789012:user/${"a/".repeat(2000)}b`, /too long/],
  ])("is refused: %s", (arn, problem) => {
    expect(parse(arn)).toMatch(problem);
  });

  it("never throws", () => {
    const arn = fc.oneof(
      fc.string(),
      fc
        .array(fc.constantFrom("arn", "aws", "iam", "sts", "", "123456789012", "user/a", "role", "*", "/"))
        .map((parts) => parts.join(":")),
    );
    fc.assert(
      fc.property(arn, fc.string(), (left, right) => {
        expect(["string", "object"]).toContain(typeof parse(left));
        expect(typeof matchesBoundArn(right, left)).toBe("boolean");
      }),
      { numRuns: 1000 },
    );
  });
});

describe("wildcards in bound ARNs", () => {
  const role = "arn:aws:iam::123456789012:role/app/Admin";

  it("match a prefix, when they stand at the end", () => {
    expect(matchesBoundArn("arn:aws:iam::123456789012:role/app/*", role)).toBe(true);
    expect(matchesBoundArn("arn:aws:iam::123456789012:*", role)).toBe(true);
    expect(matchesBoundArn(role, role)).toBe(true);
    expect(matchesBoundArn("arn:aws:iam::123456789012:role/other/*", role)).toBe(false);
    expect(matchesBoundArn("arn:aws:iam::123456789012:role/App/*", role)).toBe(false);
  });

  it("are ordinary characters elsewhere", () => {
    expect(matchesBoundArn("arn:aws:iam::123456789012:role/*/Admin", role)).toBe(false);
    const literal = "arn:aws:iam::123456789012:role/*/Admin";
    expect(matchesBoundArn(literal, literal)).toBe(true);
  });

  it("never match across accounts, nor in the middle of a text", () => {
    for (const bound of [
      "*",
      "*Admin*",
      "*Admin",
      "arn:*",
      "arn:aws:iam::*",
      "arn:aws:iam::1*",
      "arn:aws:iam::123456789012*",
      "arn:aws:iam::*:role/app/*",
      "arn:*:iam::123456789012:role/*",
      "*:aws:iam::123456789012:role/*",
    ]) {
      expect(matchesBoundArn(bound, role), bound).toBe(false);
    }
  });

  it("are refused when a role is written, unless the account is spelled out", () => {
    for (const bound of ["arn:aws:iam::123456789012:*", "arn:aws:iam::123456789012:role/app/*", role]) {
      expect(wildcardProblem(bound)).toBeNull();
    }
    for (const bound of [
      "*",
      "*Admin*",
      "arn:aws:iam::1*",
      "arn:aws:iam::123456789012*",
      "arn:aws:iam::*:*",
      "arn:aws:sts::123456789012:assumed-role/*",
      "arn:mars:iam::123456789012:*",
    ]) {
      expect(wildcardProblem(bound), bound).toMatch(/wildcard/);
    }
  });
});
