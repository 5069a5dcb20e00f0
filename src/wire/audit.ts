import type { Ms } from "../base/clock.ts";
import type { GenerationalCache } from "../base/generational-cache.ts";
import { MAX_JSON_DEPTH } from "../base/limits.ts";
import { escapeUnprintable } from "../base/misleading-characters.ts";
import { toHex } from "../crypto/bytes.ts";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";
import type { Operation } from "../policy/operation.ts";

/** A token in a line. The names are those of the reference's audit lines. */
export interface AuditAuth {
  /** The id of a token of a registered kind; "" for a batch token. */
  readonly accessor: string;
  readonly display_name: string;
  /** Policies of the token, without those of its entity. */
  readonly policies: readonly string[];
  readonly entity_id: string;
  /** "service", "batch", or the name of a registered kind. */
  readonly token_type: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Keyed hash of a new batch token, which has no accessor. */
  readonly token_hash?: string;
}

/** A line of the audit log (docs/audit.md). It contains no secret: tokens, and strings in fields, are keyed hashes. */
export interface AuditLine {
  readonly type: "request" | "response";
  /** RFC 3339. */
  readonly time: string;
  /** "rpc": a call of another Worker over a service binding. */
  readonly via: "http" | "rpc";
  /** The same in both lines of a request, and in its answer. */
  readonly request_id: string;
  readonly operation: Operation | "unknown";
  readonly path: string;
  /** Path of the mount that serves the request, with a slash at the end; absent when no mount does. */
  readonly mount?: string;
  readonly client_address: string | null;
  readonly token_hash?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly status?: number;
  /** Time from arrival to answer. On the network the clock advances only at I/O. */
  readonly duration_ms?: Ms;
  readonly error?: string;
  /** The caller's token, or the new token of a login; absent without a valid token. */
  readonly auth?: AuditAuth;
  readonly response?: {
    readonly auth?: AuditAuth;
    readonly wrap_info?: { readonly accessor: string; readonly wrapped_accessor?: string };
  };
  readonly target_accessor?: string;
  /** Id of the team, webhook or organization that was made. */
  readonly made_id?: string;
  /** Accessor of the token that holds the lease that was renewed or revoked. */
  readonly holder_accessor?: string;
  /** Accessors of the tokens that the request deleted. */
  readonly target_accessors?: readonly string[];
  /** Ids of the entities that the request changed, deleted or was to merge, or whose login was refused. */
  readonly target_entities?: readonly string[];
  readonly revocation?: AuditRevocation;
  readonly role?: string;
  /**
   * The identity that the login proved: the ARN of a principal, the id of an instance, the subject of a JWT, or the accessor of a
   * secret-id.
   */
  readonly principal?: string;
  /** The check at which a login was refused. */
  readonly check?: FailedCheck;
}

/** The failed check of a refused login. Contains names of checks, roles' claims and fields, and no value of a client. */
export interface FailedCheck {
  /** As `explain/refused` and `explain/login` of its mount call it, at most 128 characters. */
  readonly name: string;
  /** What is wrong, at most 256 characters. */
  readonly description: string;
}

/** A revocation of many tokens by a filter. The values of the filter are hashed, in the fields of the request. */
interface AuditRevocation {
  readonly dry_run: boolean;
  readonly fields: readonly string[];
  /** Number of tokens that match, and of all that end with them; absent while they are being counted. */
  readonly count?: number;
  readonly total?: number;
  readonly job?: string;
}

/** Facts for the audit log. Handlers add them as they become known, so that a later refusal is logged with them. */
export interface AuditNotes {
  auth?: AuditAuth;
  targetAccessor?: string;
  holderAccessor?: string;
  madeId?: string;
  targetAccessors?: readonly string[];
  targetEntities?: readonly string[];
  revocation?: AuditRevocation;
  /** The new token in an answer that is no `auth`. */
  issuedToken?: AuditAuth;
  role?: string;
  /** True when the login names a role of its mount. */
  roleExists?: true;
  principal?: string;
  check?: FailedCheck;
  /** The accessor of the secret-id of a login, for the audit store only. The line has it as `principal`. */
  secretId?: string;
  /** The second path of the resource, for the audit store only. */
  alternatePath?: string;
}

const UTF_8 = new TextEncoder();

/** The beginning of a token, also of a JWT. */
const TOKEN_BEGINNING = "(?:(?:s|b|r|hvs|hvb|hvr|grove-setup)\\.|[0-9A-Za-z]{14}\\.atlasv1\\.|eyJ[\\w-]+\\.)";
/** A path segment in the form of a token, sent by mistake or by an older client. */
const TOKEN_SEGMENT = new RegExp(`(^|/)${TOKEN_BEGINNING}[^/]+`, "g");
const TOKEN_WORD = new RegExp(`(^|[^\\w.-])${TOKEN_BEGINNING}[\\w.-]+`, "g");

/** Returns `hmac-sha256:` and the keyed hash of a secret in hex. It is the same in every line. */
export async function auditHash(keys: Keys, secret: string): Promise<string> {
  return `hmac-sha256:${toHex(await keyedHash(keys.audit, UTF_8.encode(secret)))}`;
}

interface TokenHashes {
  readonly keys: Keys;
  readonly tokenHashes: GenerationalCache<string, string>;
}

/** Returns the hash of a request's token. Only valid tokens are cached: forged ones must not evict their hashes. */
export async function auditTokenHash({ keys, tokenHashes }: TokenHashes, token: string, accepted: boolean) {
  const known = tokenHashes.get(token);
  if (known !== undefined) return known;
  const hash = await auditHash(keys, token);
  if (accepted) tokenHashes.set(token, hash, token.length);
  return hash;
}

/** The fixed segments in the paths of the interface. A path without an endpoint is logged with these words only. */
export const PATH_WORDS: ReadonlySet<string> = new Set(
  `.well-known access access-self accessors account acl actions archive attempt audit audit-hash audit-self audit-trail auth auth_url
  authentication-token authentication-tokens backup batch-delete begin bind-secret-id bound-cidr-list callback
  capabilities capabilities-accessor capabilities-policy capabilities-self certificate certificates client
  config count counters create create-orphan cubbyhole custom-secret-id deliveries destroy detailed details doctor
  ended ends entities entity entity-alias events explain file find finish generate-root generate-root-token group
  group-alias ha-status health history id identity identity-accesslist identity-whitelist init internal introspect jobs
  key key-status keyring keys leader leases local-secret-ids login lookup lookup-accessor lookup-self map merge
  metrics mounts name not-before notification-configurations oidc openapi openid-configuration organization organizations
  part period ping plugins policies policy poll quotas rate-limit ready receipt refused register remount renew
  renew-accessor renew-self restore resultant-acl revocations revoke revoke-accessor revoke-force revoke-orphan
  revoke-prefix revoke-self revoke-tokens rewrap role role-id roles roletag-blacklist roletag-denylist rotate
  rotate-root rules runs seal seal-status secret-id secret-id-accessor secret-id-bound-cidrs secret-id-num-uses
  secret-id-ttl signing-key specs status stop stored sts summary sys tag team-tokens teams terraform.json tidy
  tidy-status token token-bound-cidrs token-max-ttl token-num-uses token-ttl token-ttl-policies tokens tree tune
  ui unseal unwrap update usage verify verify-ended versions wrap wrapping`.split(/\s+/),
);

const UNKNOWN = "<unknown>";

/**
 * Returns a path without an endpoint as it may be logged. It can contain a token, and a custom id has no recognizable
 * form. So only words of the interface stay, and `mount`, the path of a mount at its beginning, with a slash at the
 * end.
 */
export function unservedPath(path: string, mount = ""): string {
  const segments = path.slice(mount.length).split("/");
  const shown = segments.map((segment) => (segment === "" || PATH_WORDS.has(segment) ? segment : UNKNOWN));
  return mount + shown.filter((segment, at) => segment !== UNKNOWN || shown[at - 1] !== UNKNOWN).join("/");
}

/** Returns a path, or a name in a message, without segments in the form of a token. */
export function auditPath(path: string): string {
  // Every token has a dot.
  return path.includes(".") ? path.replace(TOKEN_SEGMENT, "$1<token>") : path;
}

/** Minimum length of a value that is masked in a message. Shorter ones are in the message by chance. */
const MIN_REPEATED_VALUE = 4;

const QUOTED = /"((?:[^"\\]|\\.)*)"/gs;
/** Characters that a message may add to a quoted part or remove from it: blanks, slashes, and dots where it is cut. */
const AROUND_PART = /^[\s/]+|(?:[\s/]|\.{3})+$/g;
/** Maximum number of quoted texts that are compared with the fields. Further and longer ones are masked. */
const MAX_COMPARED = 64;
/** Maximum length of a text that is compared or searched for as a word. */
const MAX_COMPARED_LENGTH = 1024;
/** Maximum length of an error in a line. */
const MAX_ERROR_LENGTH = 2048;

/**
 * Returns an error message for the audit line. Some messages repeat the name of a role or policy as it was sent, and a
 * client can send a token there by mistake. A custom id has no recognizable form. So all texts of the request's fields
 * are masked, and quoted parts of them (a trimmed name, a word of a policy). Names that the endpoint does not define
 * are texts as well.
 */
export function auditMessage(
  message: string,
  data: Readonly<Record<string, unknown>>,
  isKnown: (name: string) => boolean = () => false,
): string {
  const names = Object.keys(data).filter((name) => !isKnown(name));
  const texts = [...names, ...textsIn(Object.values(data), MAX_JSON_DEPTH)];
  const values = new Set(texts.filter((text) => text.length >= MIN_REPEATED_VALUE));
  // A message can repeat the name of a role or policy in lower case.
  const known = message.toLowerCase();
  const repeated = [...values].filter((text) => known.includes(text.toLowerCase()));
  const longestFirst = repeated.sort((a, b) => b.length - a.length);
  const masked = longestFirst.reduce(withoutText, message);
  const parts = values.size === 0 ? masked : withoutParts(masked, [...values].join("\n").toLowerCase());
  // Words in the form of tokens come last: masking them first would change values that contain them.
  return parts.slice(0, MAX_ERROR_LENGTH).replace(TOKEN_WORD, "$1<token>");
}

/** Masks the quoted texts of a message that occur in `sent`, which is in lower case. */
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

function withoutText(message: string, text: string): string {
  if (text.length <= MAX_COMPARED_LENGTH) {
    const wholeWords = new RegExp(`(?<![\\w-])${text.replace(/[^\w\s]/g, "\\$&")}(?![\\w-])`, "gi");
    return message.replace(wholeWords, "<value>");
  }
  // The runtime refuses an expression of the maximum length of a field.
  const masked = message.replaceAll(text, "<value>");
  return masked.toLowerCase().includes(text.toLowerCase()) ? "<value>" : masked;
}

function textsIn(value: unknown, depth: number): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth === 0) return [];
  const names = Array.isArray(value) ? [] : Object.keys(value);
  return [...names, ...Object.values(value).flatMap((item) => textsIn(item, depth - 1))];
}

/** Each unit of a character of two units is escaped by itself. */
function escapeInJson(character: string): string {
  return character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Writes a line to the log. No other code does. A text in it can't change how the line is shown.
 * @returns the line as it is written.
 */
export function writeAuditLine(line: AuditLine): string {
  const text = escapeUnprintable(JSON.stringify(line), escapeInJson);
  console.log(text);
  return text;
}
