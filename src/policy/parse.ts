import { type Ms, parseAbsoluteTime } from "../base/clock.ts";
import { parseDuration } from "../base/duration.ts";
import { err, ok, type Result } from "../base/result.ts";
import { parseHcl } from "./hcl.ts";
import { parseJson } from "./json.ts";
import { readBlock } from "./path-block.ts";
import type { PathRule } from "./rule.ts";
import {
  locate,
  MAX_POLICY_LENGTH,
  objectsOf,
  type PolicyParseError,
  type Problem,
  Problems,
  quote,
  type SyntaxObject,
} from "./syntax.ts";

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * Decodes a policy text that a client sent in standard base64. Returns any other text unchanged, also base64 that does
 * not decode to UTF-8. Decoding twice is harmless.
 */
export function decodePolicyText(text: string): string {
  const joined = text.replace(/[\r\n]/g, "");
  if (joined.length % 4 !== 0 || !BASE64.test(joined)) return text;
  const bytes = Uint8Array.from(atob(joined), (character) => character.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return text;
  }
}

/**
 * Reads a policy text, HCL or JSON, either also in base64. Several mistakes are reported at once; line and column are
 * those of the first. Blocks that have expired at `now` are left out. A setting that would restrict access and is
 * not supported is a mistake: leaving it out would grant more than intended.
 */
export function parsePolicy(text: string, now: Ms): Result<PathRule[], PolicyParseError> {
  if (text.length > MAX_POLICY_LENGTH) {
    return err({ message: `policy is longer than ${MAX_POLICY_LENGTH} characters`, line: 1, column: 1 });
  }
  const source = decodePolicyText(text);
  const syntax = readSyntax(source);
  if (!syntax.ok) return err(locate(source, syntax.error));
  const problems = new Problems(source);
  const rules = readTopLevel(syntax.value, problems);
  const error = problems.toError();
  return error ? err(error) : ok(rules.filter(({ expiresAt }) => expiresAt === undefined || now <= expiresAt));
}

/** The message of a parse error for clients. */
export function policyErrorText({ message, line, column }: PolicyParseError): string {
  return `failed to parse policy: ${message} (line ${line}, column ${column})`;
}

function readSyntax(source: string): Result<SyntaxObject, Problem> {
  return source.trimStart().startsWith("{") ? parseJson(source) : parseHcl(source);
}

function readTopLevel(root: SyntaxObject, problems: Problems): PathRule[] {
  const rules: PathRule[] = [];
  // Blocks of paths may stand in any number; those of the same path are merged.
  problems.addRepeatedKeys(
    "",
    root.entries.filter(({ key }) => key !== "path"),
  );
  for (const { key, value, at } of root.entries) {
    if (key === "path") {
      const paths = objectsOf(value);
      if (!paths) problems.add('path must be a block: path "..." { ... }', at);
      for (const path of paths?.flatMap(({ entries }) => entries) ?? []) {
        const blocks = objectsOf(path.value);
        if (!blocks) problems.add(`path ${quote(path.key)}: must be a block`, path.at);
        for (const block of blocks ?? []) rules.push(readBlock(path.key, path.at, block, problems));
      }
    } else if (key === "name") {
      if (value.kind !== "string") problems.add("name must be a string", at);
    } else {
      problems.addInvalidKey("", key, at);
    }
  }
  return rules;
}

/**
 * The lines (from 1) of a policy text where blocks of paths begin, by path; none in a text that can't be read. One pass
 * over the text, which may have thousands of blocks.
 */
export function linesOfRules(text: string): ReadonlyMap<string, readonly number[]> {
  const source = decodePolicyText(text);
  const syntax = readSyntax(source);
  const entries = syntax.ok ? syntax.value.entries.filter(({ key }) => key === "path") : [];
  const blocks = entries.flatMap(({ value }) => objectsOf(value) ?? []).flatMap((object) => object.entries);
  const lines = new Map<string, number[]>();
  let line = 1;
  let end = source.indexOf("\n");
  for (const { key, at } of blocks.toSorted((a, b) => a.at - b.at)) {
    for (; end >= 0 && end < at; end = source.indexOf("\n", end + 1)) line++;
    const path = key.replace(/^\//, "");
    const known = lines.get(path);
    if (known) known.push(line);
    else lines.set(path, [line]);
  }
  return lines;
}

/**
 * Computes the expiry of a policy (null: never) from the fields `expiration` (a time) and `ttl` (a
 * duration from `now`), of which at most one may be given. An empty text counts as absent. Messages are the
 * reference's (sys/policies/acl).
 */
export function policyExpiry(expiration: string, ttl: string, now: Ms): Result<Ms | null, string> {
  if (expiration !== "" && ttl !== "") return err("cannot supply both 'expiration' and 'ttl' for policies");
  let expiresAt: Ms | null = null;
  if (expiration !== "") {
    expiresAt = parseAbsoluteTime(expiration);
    if (expiresAt === null) return err("invalid expiration time: neither RFC 3339 nor seconds since 1970");
  } else if (ttl !== "") {
    const duration = parseDuration(ttl);
    if (!duration.ok) return err(`ttl ${duration.error}`);
    if (duration.value !== 0) expiresAt = now + duration.value * 1000;
  }
  if (expiresAt !== null && expiresAt <= now) {
    return err("refusing to update policy as expiration time has already elapsed");
  }
  return ok(expiresAt);
}
