import { describe, expect, it } from "vitest";
import { PolicySet } from "../../../src/system/policies.ts";

const NOW = Date.UTC(2026, 10, 24);
const NO_LEAVE = { casRequired: false, allowSlashes: false, allowWildcards: false };
const ENTITY = { entity: { id: "e1", name: "web", metadata: {}, aliases: {} }, groups: [], revision: "1" };

describe("the compiled policies of an isolate", () => {
  /** A list as a token can have it: 1000 names, of which none need exist. */
  const listOf = (token: number) => Array.from({ length: 1000 }, (_, at) => `${token}-${at}-`.padEnd(250, "x"));

  it("are kept for the next request with the same names", () => {
    const policies = new PolicySet({ policies: [], tampered: [] });
    const kept = policies.aclFor(listOf(0), null, NOW);
    expect(policies.aclFor(listOf(0), null, NOW)).toBe(kept);
  });

  it("are bounded by the length of the lists too: tokens with many names must not use up the memory", () => {
    const policies = new PolicySet({ policies: [], tampered: [] });
    const first = policies.aclFor(listOf(0), null, NOW);
    for (let token = 1; token <= 40; token++) policies.aclFor(listOf(token), null, NOW);
    expect(policies.aclFor(listOf(0), null, NOW)).not.toBe(first);
  });

  it.each([null, ENTITY])("with the time in a path have that of each request, for %j", (entity) => {
    const rulesJson = JSON.stringify([{ path: "kv/{{time.now}}", capabilities: ["read"] }]);
    const dated = { name: "dated", rulesJson, expiresAt: null, ...NO_LEAVE };
    const policies = new PolicySet({ policies: [dated], tampered: [] });
    for (const now of [NOW, NOW + 1000]) {
      expect(policies.aclFor(["dated"], entity, now).capabilities(`kv/${now / 1000}`, now)).toEqual(["read"]);
    }
  });
});
