import { err, ok, type Result } from "../../base/result.ts";
import { globMatches } from "../../token/rules/glob.ts";
import { isObject } from "../../wire/fields.ts";
import type { Claims } from "../jws.ts";

const MAX_HOLDER_LENGTH = 512;

/** A claim by its name or JSON pointer (RFC 6901), or undefined. Only own keys count: `/__proto__` is absent. */
export function claimAt(claims: Claims, name: string): unknown {
  if (!name.startsWith("/")) return own(claims, name);
  let value: unknown = claims;
  for (const part of name.slice(1).split("/")) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) value = /^(0|[1-9]\d{0,6})$/.test(key) ? value[Number(key)] : undefined;
    else value = own(value, key);
  }
  return value;
}

/**
 * Returns the problem with the audience, or null. A token with an audience is only for that audience: a role without
 * bound audiences refuses it, also when the claim is a single string (CVE-2024-5798).
 */
export function audienceProblem(claims: Claims, bound: readonly string[]): string | null {
  // A string or a list of them (RFC 7519, section 4.1.3).
  const audiences = listOf(claims.aud ?? []);
  if (!audiences.every((audience) => typeof audience === "string")) return "invalid audience (aud) claim";
  if (bound.length === 0) {
    return audiences.length > 0 ? "audience claim found in JWT but no audiences bound to the role" : null;
  }
  if (audiences.some((audience) => bound.includes(audience))) return null;
  return "invalid audience (aud) claim: audience claim does not match any bound audience";
}

/** A value of a bound claim. Types count: `1`, `"1"` and `true` are different values. */
type Scalar = string | number | boolean;

/** The accepted values of bound claims, by claim. */
export type BoundClaims = Readonly<Record<string, Scalar | readonly Scalar[]>>;

/** Returns the problem with a bound claim, or null. */
export function boundClaimProblem(
  claims: Claims,
  name: string,
  expected: BoundClaims[string],
  type: "string" | "glob",
): string | null {
  const value = claimAt(claims, name);
  if (value === undefined || value === null) return `claim "${name}" is missing`;
  const actual = scalars(value);
  const wanted = scalars(expected);
  if (!actual || !wanted) return `claim "${name}" is not a string, bool, number or list`;
  const matches = type === "glob" ? matchesGlob : (a: Scalar, b: Scalar) => a === b;
  const fits = wanted.some((one) => actual.some((other) => matches(one, other)));
  return fits ? null : `claim "${name}" does not match any associated bound claim values`;
}

/** Reads the bound claims of a write; null when a value is no scalar and no list of scalars, or a glob is no string. */
export function readBoundClaims(sent: Readonly<Record<string, unknown>>, type: "string" | "glob"): BoundClaims | null {
  const read = new Map<string, Scalar | readonly Scalar[]>();
  for (const [name, value] of Object.entries(sent)) {
    const values = scalars(value);
    if (!values || (type === "glob" && !values.every((one) => typeof one === "string"))) return null;
    read.set(name, isScalar(value) ? value : values);
  }
  return Object.fromEntries(read);
}

/** Returns a claim for the metadata, which must be a string; null when it is absent. */
export function mappedText(claims: Claims, name: string): Result<string | null, string> {
  const value = claimAt(claims, name);
  if (value === undefined || value === null) return ok(null);
  return typeof value === "string" ? ok(value) : err(`error converting claim '${name}' to string`);
}

/** The name of the holder, by a claim or a JSON pointer. An error unless it is a string, neither blank nor too long. */
export function userClaimOf(claims: Claims, name: string, isPointer: boolean): Result<string, string> {
  const value = isPointer ? claimAt(claims, name) : own(claims, name);
  if (value === undefined || value === null) return err(`claim "${name}" not found in token`);
  const fits = typeof value === "string" && value.trim() !== "" && value.length <= MAX_HOLDER_LENGTH;
  return fits ? ok(value) : err(`claim "${name}" could not be converted to string`);
}

/** Returns the names of the groups in a claim. Issuers omit the claim for a client without groups. */
export function groupsClaimOf(claims: Claims, name: string): Result<readonly string[], string> {
  const values = listOf(claimAt(claims, name) ?? []);
  if (values.every((group) => typeof group === "string")) return ok(values.filter((group) => group !== ""));
  return err(`"${name}" claim could not be converted to string list`);
}

/**
 * True for a token of a person in more groups than Entra lists: it names a source of the claim instead of the claim
 * (OpenID Connect Core, 5.6.2). @param name of the groups claim; "" for none.
 */
export function leavesGroupsOut(claims: Claims, name: string): boolean {
  if (name === "" || (claimAt(claims, name) ?? null) !== null) return false;
  const names = own(claims, "_claim_names");
  return isObject(names) && (claimAt(names, name) ?? null) !== null;
}

/** Returns the items of a list. A single value is a list of one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function scalars(value: unknown): readonly Scalar[] | null {
  const values = listOf(value);
  return values.every(isScalar) ? values : null;
}

function isScalar(value: unknown): value is Scalar {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}

function matchesGlob(pattern: Scalar, value: Scalar): boolean {
  return typeof pattern === "string" && typeof value === "string" && globMatches(pattern, value);
}

function own(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
