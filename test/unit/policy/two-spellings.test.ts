import { describe, expect, it } from "vitest";
import { capabilitiesOf, evaluateAcl } from "../../../src/policy/evaluate.ts";
import type { Operation } from "../../../src/policy/operation.ts";
import { aclOf, NOW } from "./helpers.ts";

const PATH = "teams/team-x/authentication-token";
const CANONICAL = "organizations/acme/teams/team-x/authentication-token";

function verdict(rules: string, operation: Operation = "update") {
  return evaluateAcl(aclOf(rules), { operation, path: PATH, alternatePath: CANONICAL }, NOW);
}

describe("a path with two spellings", () => {
  it("is granted what either grants", () => {
    expect(verdict(`path "teams/+/authentication-token" { capabilities = ["update"] }`).allowed).toBe(true);
    expect(verdict(`path "organizations/acme/teams/*" { capabilities = ["update"] }`).allowed).toBe(true);
    expect(verdict(`path "organizations/other/teams/*" { capabilities = ["update"] }`).allowed).toBe(false);
    const both = `path "teams/*" { capabilities = ["read"] } path "organizations/acme/teams/*" { capabilities = ["update"] }`;
    expect(verdict(both).allowed).toBe(true);
    expect(verdict(both, "read").allowed).toBe(true);
    expect(verdict(both, "delete").allowed).toBe(false);
  });

  it("is refused what either denies, however exact the other is", () => {
    for (const [denied, granted] of [
      ["teams/*", CANONICAL],
      ["organizations/acme/*", PATH],
    ]) {
      const rules = `path "${denied}" { capabilities = ["deny"] } path "${granted}" { capabilities = ["update", "sudo"] }`;
      expect(verdict(rules)).toMatchObject({ allowed: false, sudo: false, update: false });
      expect(capabilitiesOf(aclOf(rules), { path: PATH, alternatePath: CANONICAL }, NOW)).toEqual(["deny"]);
    }
  });

  it("has sudo by the rule that allows only", () => {
    const sudo = (a: string, b: string) =>
      verdict(`path "teams/*" { capabilities = ${a} } path "organizations/acme/teams/*" { capabilities = ${b} }`).sudo;
    expect(sudo('["update"]', '["read", "sudo"]')).toBe(false);
    expect(sudo('["update"]', '["update", "sudo"]')).toBe(true);
    expect(sudo('["read"]', '["update", "sudo"]')).toBe(true);
    expect(sudo('["read", "sudo"]', '["update"]')).toBe(false);
  });

  it("keeps the limits of each rule to that rule", () => {
    const limited = `path "organizations/acme/teams/*" { capabilities = ["update"] denied_parameters = { description = [] } }`;
    const data = { description: "x" };
    const ask = (rules: string) =>
      evaluateAcl(aclOf(rules), { operation: "update", path: PATH, alternatePath: CANONICAL, data }, NOW).allowed;
    expect(ask(limited)).toBe(false);
    expect(ask(`${limited} path "teams/*" { capabilities = ["update"] }`)).toBe(true);
  });

  it("reports the capabilities of both together", () => {
    const rules = `path "teams/*" { capabilities = ["read"] } path "organizations/acme/teams/*" { capabilities = ["update", "read"] }`;
    expect(capabilitiesOf(aclOf(rules), { path: PATH, alternatePath: CANONICAL }, NOW)).toEqual(["read", "update"]);
    expect(capabilitiesOf(aclOf(""), { path: PATH, alternatePath: CANONICAL }, NOW)).toEqual(["deny"]);
  });
});
