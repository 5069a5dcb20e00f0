import type { GenerationalCache } from "../base/generational-cache.ts";
import { MAX_JSON_DEPTH } from "../base/limits.ts";
import { hashForLog } from "../crypto/audit-key.ts";
import { toHex } from "../crypto/bytes.ts";
import type { Keys } from "../crypto/key-ring.ts";

/** The beginning of a token, also of a JWT. */
const TOKEN_BEGINNING = "(?:(?:s|b|r|hvs|hvb|hvr|grove-setup)\\.|[0-9A-Za-z]{14}\\.atlasv1\\.|eyJ[\\w-]+\\.)";
/** A path segment in the form of a token, sent by mistake or by an older client. */
const TOKEN_SEGMENT = new RegExp(`(^|/)${TOKEN_BEGINNING}[^/]+`, "g");
const TOKEN_WORD = new RegExp(`(^|[^\\w.-])${TOKEN_BEGINNING}[\\w.-]+`, "g");

/** Returns `hmac-sha256:` and the keyed hash of a secret in hex. It is the same in every line. */
export async function auditHash(keys: Keys, secret: string): Promise<string> {
  return `hmac-sha256:${toHex(await hashForLog(keys, secret))}`;
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
/** Maximum length of a message that is searched for each text. A client could have seconds spent on a longer one. */
const MAX_SEARCHED_LENGTH = 16_384;

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
  const searched = message.length > MAX_SEARCHED_LENGTH ? withoutQuoted(message, values) : message;
  // A message can repeat the name of a role or policy in lower case.
  const known = searched.toLowerCase();
  const repeated = [...values].filter((text) => known.includes(text.toLowerCase()));
  const longestFirst = repeated.sort((a, b) => b.length - a.length);
  const masked = longestFirst.reduce(withoutText, searched);
  const parts = values.size === 0 ? masked : withoutParts(masked, [...values].join("\n").toLowerCase());
  // Words in the form of tokens come last: masking them first would change values that contain them.
  return parts.slice(0, MAX_ERROR_LENGTH).replace(TOKEN_WORD, "$1<token>");
}

/** Masks every quoted text of a long message. If the rest is still too long, or may repeat a text, all of it is masked. */
function withoutQuoted(message: string, values: ReadonlySet<string>): string {
  const known = message.toLowerCase();
  // A part of an unquoted text with quotation marks would stay.
  if ([...values].some((text) => text.includes('"') && known.includes(text.toLowerCase()))) return "<value>";
  const rest = message.replace(QUOTED, '"<value>"');
  return rest.length > MAX_SEARCHED_LENGTH ? "<value>" : rest;
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
