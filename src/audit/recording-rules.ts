import type { Failure } from "../base/result.ts";
import type { AuditAuth, AuditLine } from "../wire/audit.ts";
import {
  type AuditEntry,
  MAX_MENTIONS,
  MAX_RECORD_LENGTH,
  type MentionKind,
  mentionOf,
  mentionOfRole,
} from "./entry.ts";

/**
 * What becomes of an answered request in the store: a `record`, a `refusal` of a client without a token that can be
 * used, a `use` that is counted, or `nothing`. What needs no token is bounded as a `refusal` is.
 */
type Fate = "record" | "refusal" | "use" | "nothing";

/** What decides about the fate of a request. */
export interface AnsweredRequest extends Pick<AuditLine, "via" | "path" | "response" | "revocation"> {
  /** True when it could change something or issue a token: its first line was written before it acted. */
  readonly acts: boolean;
  /** True when its token was alive. */
  readonly hasCaller: boolean;
  /** null for a success. */
  readonly failure: Failure["code"] | null;
}

/** Endpoints whose writes only read. They take a POST because their input, such as a token, must not be in a URL. */
const READING_WRITES: ReadonlySet<string> = new Set([
  ...["auth/token/lookup", "auth/token/lookup-accessor"],
  ...["identity/lookup/entities", "identity/lookup/entity", "identity/lookup/group", "identity/oidc/introspect"],
  ...["sys/audit/events", "sys/capabilities", "sys/capabilities-accessor", "sys/capabilities-policy"],
  ...["sys/capabilities-self", "sys/explain/access", "sys/explain/access-self", "sys/explain/policy"],
  ...["sys/explain/rules", "sys/leases/lookup", "sys/tokens/find", "sys/tokens/verify-ended", "sys/wrapping/lookup"],
]);
// A mount can be at a path that ends with `explain`: a login there is known by the token that it gives.
const READING_PATHS =
  /^sys\/audit-hash\/|^auth\/.+\/(?:explain\/login|secret-id\/(?:find|lookup)|secret-id-accessor\/lookup)$/;

/**
 * What succeeds over HTTP without a caller and changes the installation. Anything else is of anybody, such as a step of
 * a login that gives no token, or the OpenAPI document by a POST.
 */
const OF_OPERATORS = /^sys\/(?:init|restore|generate-root(?:-token)?)(?:\/|$)/;

/** Failures while there are no keys with which a record could be sealed. */
const UNSEALABLE: ReadonlySet<Failure["code"]> = new Set(["sealed", "uninitialized"]);

/** Failures after which a request may have changed something. */
const FAULTS: ReadonlySet<Failure["code"]> = new Set(["internal", "unavailable"]);

/** True for a write that changes nothing. */
export function onlyReads(path: string): boolean {
  return READING_WRITES.has(path) || READING_PATHS.test(path);
}

/** True for a dry run that began no job: it changed nothing. */
function onlyCounts({ revocation }: Pick<AuditLine, "revocation">): boolean {
  return revocation?.dry_run === true && revocation.job === undefined;
}

export function fateOf(request: AnsweredRequest): Fate {
  const { acts, via, path, response, hasCaller, failure } = request;
  if (failure !== null && UNSEALABLE.has(failure)) return "nothing";
  // A wrapped answer makes a token, whatever the request reads.
  const changes = acts && (response !== undefined || !(onlyReads(path) || onlyCounts(request)));
  if (failure === null && changes) {
    return hasCaller || via === "rpc" || OF_OPERATORS.test(path) ? "record" : "refusal";
  }
  // Who polls while a person signs in is not refused.
  if (failure === null || failure === "pending") return hasCaller ? "use" : "nothing";
  // A token that is alive and can't be used proves nothing more than one that has ended.
  if (!hasCaller || failure === "unauthenticated") return "refusal";
  // Nothing is there to read, and nothing was refused. A path that nothing serves is a mistake that somebody looks for.
  return !changes && failure === "not_found" ? "use" : "record";
}

/** True when the answer of a request waits until its record is stored: it may have changed something. */
export function holdsAnswer(fate: Fate, { acts, failure }: Pick<AnsweredRequest, "acts" | "failure">): boolean {
  return fate === "record" && acts && !isRefused(fate, failure);
}

/** True for a refused request, which has changed nothing, and for what needs no token. The number of records is bounded. */
export function isRefused(fate: Fate, failure: AnsweredRequest["failure"]): boolean {
  return fate === "refusal" || (fate === "record" && failure !== null && !FAULTS.has(failure));
}

/** The role in the path below its mount: that of the role, or of the creation of a token through it. */
const ROLE_PATH = /^(?:roles?|create)\/([^/]+)(?:$|\/)/;
const ORGANIZATION_PATH = /^organizations\/([^/]+)/;

/** What a record is found by and its line does not name in a field of its own. */
interface AlsoNamed {
  /** Another path of the resource: for a team, it contains the organization, for a new token the role in the body. */
  readonly alternatePath?: string | undefined;
  /** The accessor of the secret-id of a login. The line has it as the principal, which may also be a JWT's subject. */
  readonly secretId?: string | undefined;
}

/**
 * Returns the mentions of a line without duplicates, at most `MAX_MENTIONS`.
 */
export function mentionsOf(line: AuditLine, { alternatePath = "", secretId }: AlsoNamed = {}): readonly string[] {
  const { auth, response, token_hash: tokenHash, mount = "", path } = line;
  const made = response?.auth;
  // The line of a login has the new token in the place of the caller.
  const caller = auth && !(made && isSame(auth, made)) ? auth : undefined;
  const all: string[] = [];
  const add = (kind: MentionKind, value: string | null | undefined) => value && all.push(mentionOf(kind, value));
  add("request", line.request_id);
  add("accessor", made?.accessor || made?.token_hash);
  add("accessor", response?.wrap_info?.accessor);
  add("accessor", response?.wrap_info?.wrapped_accessor);
  add("accessor", line.target_accessor);
  add("accessor", line.holder_accessor);
  add("accessor", secretId);
  // A caller without an accessor, and a token that is not valid, are found by the keyed hash.
  add("accessor", caller ? caller.accessor || tokenHash : made ? undefined : tokenHash);
  add("entity", caller?.entity_id);
  add("entity", made?.entity_id);
  add("address", line.client_address);
  // The mount comes from the line: its own path can have a segment `role`.
  const named = [path, alternatePath].map(
    (one) => one.startsWith(mount) && ROLE_PATH.exec(one.slice(mount.length))?.[1],
  );
  const roles = mount.startsWith("auth/") ? [line.role, ...named] : [];
  for (const role of roles) if (role) all.push(mentionOfRole(mount, role));
  add("organization", (ORGANIZATION_PATH.exec(path) ?? ORGANIZATION_PATH.exec(alternatePath))?.[1]);
  for (const accessor of line.target_accessors ?? []) add("accessor", accessor);
  for (const id of line.target_entities ?? []) add("entity", id);
  return [...new Set(all)].slice(0, MAX_MENTIONS);
}

function isSame(one: AuditAuth, other: AuditAuth): boolean {
  return one === other || (one.accessor === other.accessor && one.token_hash === other.token_hash);
}

/** Returns the keyed hash or accessor under which the uses of a line's caller are counted; "" for none. */
export function userOf({ auth, token_hash: tokenHash = "" }: Pick<AuditLine, "auth" | "token_hash">): string {
  return auth ? auth.accessor || tokenHash : "";
}

/** Takes the place of what was cut from a line that was too long. */
const CUT = "<more>";

/**
 * Returns the text of a record. It is the text of the line in the log, with the fields of its first line as `data`. A
 * text that would be too long is cut: first its fields, then metadata, then lists.
 * @param text the line as it is logged.
 */
export function recordText(line: AuditLine, text: string, data: AuditLine["data"]): string {
  const fields = data && !line.data ? `,"data":${JSON.stringify(data)}` : "";
  const whole = `${text.slice(0, -1)}${fields}}`;
  if (whole.length <= MAX_RECORD_LENGTH) return whole;
  const { data: _, ...plain } = line;
  const withoutData = { ...plain, data: { [CUT]: Object.keys(data ?? line.data ?? {}).length } };
  const shorter = [withoutData, withoutMetadata(withoutData), shortest(line)].map((one) => JSON.stringify(one));
  return shorter.find(({ length }) => length <= MAX_RECORD_LENGTH) ?? "{}";
}

const MAX_CUT_LIST = 20;
const MAX_CUT_TEXT = 256;

function cutAuth(auth: AuditAuth): AuditAuth {
  const policies = auth.policies.slice(0, MAX_CUT_LIST).map((name) => name.slice(0, MAX_CUT_TEXT));
  const cut = { [CUT]: String(Object.keys(auth.metadata).length) };
  return { ...auth, display_name: auth.display_name.slice(0, MAX_CUT_TEXT), policies, metadata: cut };
}

function withoutMetadata(line: AuditLine): AuditLine {
  const { auth, response, target_accessors: targets, target_entities: entities } = line;
  return {
    ...line,
    ...(auth && { auth: cutAuth(auth) }),
    ...(response && { response: { ...response, ...(response.auth && { auth: cutAuth(response.auth) }) } }),
    ...(targets && { target_accessors: targets.slice(0, MAX_CUT_LIST) }),
    ...(entities && { target_entities: entities.slice(0, MAX_CUT_LIST).map((id) => id.slice(0, MAX_CUT_TEXT)) }),
  };
}

/** The fields that every record keeps, cut to a bounded length. */
function shortest(line: AuditLine): Partial<AuditLine> {
  const { type, time, via, request_id, operation, path, client_address, token_hash, status } = line;
  const cut = (text: string) => text.slice(0, MAX_CUT_TEXT);
  const address = client_address === null ? null : cut(client_address);
  const known = { type, time, via, request_id, operation, path: cut(path), client_address: address };
  const whom = line.auth && { auth: cutAuth(line.auth) };
  return {
    ...known,
    ...(token_hash !== undefined && { token_hash }),
    ...(status !== undefined && { status }),
    ...whom,
  };
}

interface LineToKeep extends AlsoNamed {
  readonly line: AuditLine;
  /** The line as it is logged. */
  readonly text: string;
  /** The fields of its first line. */
  readonly data: AuditLine["data"];
}

/** Returns the entry of a line for the store. */
export function entryOf(at: number, { line, text, data, ...also }: LineToKeep): AuditEntry {
  return { at, line: recordText(line, text, data), mentions: mentionsOf(line, also) };
}
