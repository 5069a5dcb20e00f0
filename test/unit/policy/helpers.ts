import { type AccessRequest, type Acl, compileAcl, type Verdict } from "../../../src/policy/acl.ts";
import type { Operation } from "../../../src/policy/operation.ts";
import { parsePolicy } from "../../../src/policy/parse.ts";
import type { NamedPolicy, PathRule } from "../../../src/policy/rule.ts";
import type { TemplateContext } from "../../../src/policy/template.ts";

/** The moment of a test that does not care about time, ms. */
export const NOW = Date.parse("2027-03-01T12:00:00Z");

/** The rules of a policy text that must be right. */
export function rulesOf(text: string, now = NOW): PathRule[] {
  const parsed = parsePolicy(text, now);
  if (!parsed.ok) throw new Error(`${parsed.error.message} at ${parsed.error.line}:${parsed.error.column}`);
  return parsed.value;
}

/** The error of a policy text that must be wrong. */
export function errorOf(text: string, now = NOW) {
  const parsed = parsePolicy(text, now);
  if (parsed.ok) throw new Error("the text was accepted");
  return parsed.error;
}

/** An ACL of policy texts, named p1, p2 and so on. */
export function aclOf(...texts: string[]): Acl {
  const policies = texts.map((text, index) => ({ name: `p${index + 1}`, rules: rulesOf(text) }));
  return compileAcl(policies, { now: NOW });
}

/** An ACL of one policy for one identity. */
export function aclFor(context: Partial<TemplateContext>, text: string, flags: Partial<NamedPolicy> = {}): Acl {
  return compileAcl([{ name: "templated", rules: rulesOf(text), ...flags }], { now: NOW, ...context });
}

export function check(acl: Acl, operation: Operation, path: string, extra: Partial<AccessRequest> = {}): Verdict {
  return acl.check({ operation, path, ...extra }, NOW);
}

export function allows(acl: Acl, operation: Operation, path: string, extra: Partial<AccessRequest> = {}): boolean {
  return check(acl, operation, path, extra).allowed;
}
