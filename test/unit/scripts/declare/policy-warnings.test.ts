import { expect, it } from "vitest";
import type { DeclaredRequest } from "../../../../scripts/declare/declaration.ts";
import { policyWarnings } from "../../../../scripts/declare/policy-warnings.ts";
import { err, ok } from "../../../../src/base/result.ts";

const request = (path: string, data: DeclaredRequest["data"]): DeclaredRequest => ({
  ...{ name: "policies.web", line: 4, path, data, origins: new Map() },
});
const POLICIES = [
  request("sys/policies/acl/web", { policy: "text" }),
  request("sys/auth/jobs", { type: "approle", policy: "no policy" }),
];

it("of a declared policy that no endpoint of Grove has a path are warnings, and no refusal", async () => {
  const asked: unknown[] = [];
  const post = async (path: string, _: unknown, body: unknown) => {
    asked.push([path, body]);
    return ok({ unserved: [{ path: "auth/tokens/create", lines: [1] }] });
  };
  expect(await policyWarnings({ post: post as never }, POLICIES)).toEqual([
    expect.stringMatching(/web.*: no endpoint of Grove has the path auth\/tokens\/create; only other services/),
  ]);
  expect(asked).toEqual([["sys/explain/policy", { policy: "text" }]]);
});

it("are not there where the server can't be asked", async () => {
  const post = async () => err({ status: 404, message: "no such endpoint" });
  expect(await policyWarnings({ post: post as never }, POLICIES)).toEqual([]);
});
