import type { GenerationalCache } from "../base/generational-cache.ts";
import { MAX_JSON_DEPTH } from "../base/limits.ts";
import { toHex } from "../crypto/bytes.ts";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";
import type { Operation } from "../policy/acl.ts";
import { PATH_WORDS } from "./path-words.ts";

/** A token as a line describes it. The names are those of the reference's audit lines. */
export interface AuditAuth {
  /** The id of the token for a team, "" for a batch token. */
  readonly accessor: string;
  readonly display_name: string;
  /** Of the token itself, without those of its entity. */
  readonly policies: readonly string[];
  /** "" without an entity. */
  readonly entity_id: string;
  readonly token_type: "service" | "batch" | "team";
  /** As it is; `{}` when the token has none. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Keyed hash of a batch token that is handed out: it has no accessor. */
  readonly token_hash?: string;
}

/**
 * A line of the audit log about one request: before it acts (`request`), or when it is answered (`response`). Holds no secret:
 * tokens and the strings of fields only as keyed hashes. docs/audit.md describes every field.
 */
export interface AuditLine {
  readonly type: "request" | "response";
  /** RFC 3339. */
  readonly time: string;
  /** Over HTTP, or from another Worker over a service binding. */
  readonly via: "http" | "rpc";
  /** The same in both lines of a request, and in its answer. */
  readonly request_id: string;
  readonly operation: Operation | "unknown";
  readonly path: string;
  /** Path of the mount that serves the request, with a slash at the end; absent where no mount does. */
  readonly mount?: string;
  readonly client_address: string | null;
  /** Keyed hash of the token that was sent. */
  readonly token_hash?: string;
  /** The fields that were sent, every text in them as a keyed hash. */
  readonly data?: HashedData;
  readonly status?: number;
  /** From the arrival to the answer. The clock of the platform stands still while only code runs. */
  readonly duration_ms?: number;
  /** The first error text of the answer. */
  readonly error?: string;
  /** The caller's token, and of a login the token that it gave; absent when there was none or it was not accepted. */
  readonly auth?: AuditAuth;
  /** What the answer hands out. */
  readonly response?: {
    /** The new token, also when the answer that holds it was wrapped. */
    readonly auth?: AuditAuth;
    /** The wrapping token, and the accessor of the token inside. */
    readonly wrap_info?: { readonly accessor: string; readonly wrapped_accessor?: string };
  };
  /** Accessor of another token that the request was about. */
  readonly target_accessor?: string;
  /** Ids of the teams' tokens that one request deleted. */
  readonly target_accessors?: readonly string[];
  /** What a revocation of many tokens was asked for, and what it comes to. */
  readonly revocation?: AuditRevocation;
  /** The role that a login asked for. */
  readonly role?: string;
  /** The identity that the login proved: the ARN of a principal, or the id of an instance. */
  readonly principal?: string;
}

/** A revocation of many tokens: nothing of it is secret, and its filter is in the fields of the request, hashed. */
export interface AuditRevocation {
  readonly dry_run: boolean;
  /** Names of the fields that say which tokens are meant. */
  readonly fields: readonly string[];
  /** Tokens that match, and all that end with them; absent while that is counted. */
  readonly count?: number;
  readonly total?: number;
  /** The job that counts or revokes; absent when there is none. */
  readonly job?: string;
}

/** Fields of a request whose strings are keyed hashes. */
export type HashedData = { readonly [name: string]: unknown };

/**
 * Facts for the audit log that handlers add as they learn them, so that they are on record for a request that is
 * refused later, too.
 */
export interface AuditNotes {
  /** The caller's token, once it was found good. */
  auth?: AuditAuth;
  targetAccessor?: string;
  /** Of several tokens of teams that the request deletes. */
  targetAccessors?: readonly string[];
  revocation?: AuditRevocation;
  /** The team's token that is handed out. */
  issuedTeamToken?: AuditAuth;
  role?: string;
  /** True when the login names a role of its mount. */
  roleExists?: true;
  principal?: string;
}

const UTF_8 = new TextEncoder();

/** A path segment in the form of a token, sent by mistake or by older clients. */
const TOKEN_SEGMENT = /(^|\/)(?:(?:s|b|r|hvs|hvb|hvr)\.|[0-9A-Za-z]{14}\.atlasv1\.)[^/]+/g;

/** A word in the form of a token, in a message that names what was sent. */
const TOKEN_WORD = /(^|[^\w.-])(?:(?:s|b|r|hvs|hvb|hvr)\.|[0-9A-Za-z]{14}\.atlasv1\.)[\w.-]+/g;

/** `hmac-sha256:` and the hex of the keyed hash of a secret, the same for the same secret in every line. */
export async function auditHash(keys: Keys, secret: string): Promise<string> {
  return `hmac-sha256:${toHex(await keyedHash(keys.audit, UTF_8.encode(secret)))}`;
}

/** What hashes are made with, and those that were made of tokens and of frequent values of fields. */
interface KnownHashes {
  readonly keys: Keys;
  readonly tokenHashes: GenerationalCache<string, string>;
  readonly fieldHashes: GenerationalCache<string, string>;
}

/**
 * The hash of a token that was sent with a request, cached only when the token was accepted: garbage must not evict the
 * hashes of real tokens.
 */
export async function auditTokenHash(
  { keys, tokenHashes }: KnownHashes,
  token: string,
  accepted: boolean,
): Promise<string> {
  const known = tokenHashes.get(token);
  if (known !== undefined) return known;
  const hash = await auditHash(keys, token);
  if (accepted) tokenHashes.set(token, hash, token.length);
  return hash;
}

type HashOf = (text: string) => Promise<string>;

/** Fields that hold no secret and have the same few values in most requests. */
const REPEATED_FIELDS: ReadonlySet<string> = new Set([
  ...["type", "ttl", "period", "explicit_max_ttl", "increment", "policies", "display_name", "role"],
]);

/** Longest text of such a field whose hash is kept. */
const MAX_REPEATED_TEXT = 64;

async function knownAuditHash({ keys, fieldHashes }: KnownHashes, text: string): Promise<string> {
  const known = fieldHashes.get(text);
  if (known !== undefined) return known;
  const hash = await auditHash(keys, text);
  if (text.length <= MAX_REPEATED_TEXT) fieldHashes.set(text, hash, text.length + hash.length);
  return hash;
}

/** Stands in the log for parts of a path that are no words of the interface. */
const UNKNOWN = "<unknown>";

/**
 * A path that no endpoint serves, or that was not checked, as it may be logged. Clients send tokens in paths that do not exist
 * here, or by mistake, and a token that root chose has no form to know it by: only words of the interface stay.
 *
 * @param mount the beginning of the path that is the path of a mount, with a slash at the end; "" for none.
 */
export function unservedPath(path: string, mount = ""): string {
  const segments = path.slice(mount.length).split("/");
  const shown = segments.map((segment) => (segment === "" || PATH_WORDS.has(segment) ? segment : UNKNOWN));
  return mount + shown.filter((segment, at) => segment !== UNKNOWN || shown[at - 1] !== UNKNOWN).join("/");
}

/** A path, or the name of a field, fit for the audit line. */
export function auditPath(path: string): string {
  // Every such segment has a dot.
  return path.includes(".") ? path.replace(TOKEN_SEGMENT, "$1<token>") : path;
}

/** Shortest text of a field that is taken out of a message: shorter ones are words of the message by accident. */
const MIN_REPEATED_VALUE = 4;

/** A text in quotes, with escapes as JSON has them. */
const QUOTED = /"((?:[^"\\]|\\.)*)"/gs;
/** What a message may add to a part of a text, or take off it: blanks, slashes, and dots where it is cut. */
const AROUND_PART = /^[\s/]+|(?:[\s/]|\.{3})+$/g;
/** Quoted texts of a message that are compared with the fields; further and longer ones are taken out unseen. */
const MAX_COMPARED = 64;
/** Characters of a text that is compared, or looked for as a word. */
const MAX_COMPARED_LENGTH = 1024;

/**
 * A message of an answer, fit for the audit line. Some repeat what was sent as the name of a role or policy, in whose place a
 * token can stand. One that root chose has no form to know it by, so no text of the request's fields stays, and no part of
 * one that the message quotes: names without the blanks around them, a word of a policy.
 *
 * @param data the fields of the request.
 */
export function auditMessage(message: string, data: Readonly<Record<string, unknown>>): string {
  const values = new Set(textsIn(data, MAX_JSON_DEPTH).filter((text) => text.length >= MIN_REPEATED_VALUE));
  // Names of roles and policies are repeated in lower case.
  const known = message.toLowerCase();
  const repeated = [...values].filter((text) => known.includes(text.toLowerCase()));
  const longestFirst = repeated.sort((a, b) => b.length - a.length);
  const masked = longestFirst.reduce(withoutText, message);
  const parts = values.size === 0 ? masked : withoutParts(masked, [...values].join("\n").toLowerCase());
  // The words of tokens go last: a value that has one in its middle must not be cut before it is found.
  return parts.replace(TOKEN_WORD, "$1<token>");
}

/** `message` without the quoted texts that are in `sent`, which is in lower case. */
function withoutParts(message: string, sent: string): string {
  let compared = 0;
  return message.replace(QUOTED, (quoted, escaped: string) => {
    if (escaped.length > MAX_COMPARED_LENGTH) return '"<value>"';
    const [written, meant] = [escaped, unescaped(quoted)].map((text) => text.replace(AROUND_PART, "").toLowerCase());
    if (!written || !meant || meant.length < MIN_REPEATED_VALUE) return quoted;
    return ++compared > MAX_COMPARED || sent.includes(written) || sent.includes(meant) ? '"<value>"' : quoted;
  });
}

function unescaped(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}

/** `message` without a text that it repeats as a whole word, in whatever case. */
function withoutText(message: string, text: string): string {
  if (text.length <= MAX_COMPARED_LENGTH) return message.replace(wholeWords(text), "<value>");
  // The runtime refuses an expression that is as long as a field may be.
  const masked = message.replaceAll(text, "<value>");
  return masked.toLowerCase().includes(text.toLowerCase()) ? "<value>" : masked;
}

function wholeWords(text: string): RegExp {
  return new RegExp(`(?<![\\w-])${text.replace(/[^\w\s]/g, "\\$&")}(?![\\w-])`, "gi");
}

/** Every text in the fields of a request. @param depth levels that may follow. */
function textsIn(value: unknown, depth: number): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth === 0) return [];
  return Object.values(value).flatMap((item) => textsIn(item, depth - 1));
}

/**
 * The fields of a request for the log: names, numbers and flags as they are, strings as keyed hashes like those of tokens.
 *
 * @param plain names of fields that an operator wants to see as they are.
 */
export async function auditData(
  hashes: KnownHashes,
  data: Readonly<Record<string, unknown>>,
  plain: readonly string[],
): Promise<HashedData> {
  const hashOf = (text: string) => auditHash(hashes.keys, text);
  const repeatedHashOf = (text: string) => knownAuditHash(hashes, text);
  const entries: [string, unknown][] = [];
  for (const [name, value] of Object.entries(data)) {
    if (plain.includes(name)) entries.push([name, value]);
    else {
      const hash = REPEATED_FIELDS.has(name) ? repeatedHashOf : hashOf;
      entries.push([auditPath(name), await auditValue(hash, value, MAX_JSON_DEPTH - 1)]);
    }
  }
  return Object.fromEntries(entries);
}

async function auditObject(hashOf: HashOf, data: object, depth: number): Promise<HashedData> {
  const entries = Object.entries(data).map(async ([name, value]) => [
    auditPath(name),
    await auditValue(hashOf, value, depth - 1),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

/** @param depth levels that may follow: what another Worker sends can go round in a circle. */
async function auditValue(hashOf: HashOf, value: unknown, depth: number): Promise<unknown> {
  if (typeof value === "string") return hashOf(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return "<too deep>";
  if (Array.isArray(value)) return Promise.all(value.map((item) => auditValue(hashOf, item, depth - 1)));
  return auditObject(hashOf, value, depth);
}

/** Writes one line of JSON to the log: the only place that does. */
export function writeAuditLine(line: AuditLine): void {
  console.log(JSON.stringify(line));
}
