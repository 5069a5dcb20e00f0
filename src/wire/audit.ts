import { toHex } from "../crypto/bytes.ts";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";
import type { Operation } from "../policy/acl.ts";
import type { Installation } from "../system/installation.ts";

/** One request, over HTTP or from another Worker (`rpc`), in the audit log. Holds no secret: tokens only as keyed hashes, no field of a body. */
export interface AuditLine {
  readonly type: "request" | "rpc";
  /** RFC 3339. */
  readonly time: string;
  readonly request_id: string;
  readonly operation: Operation | "unknown";
  readonly path: string;
  readonly status: number;
  /** The first error text of the answer. */
  readonly error?: string;
  readonly client_address: string | null;
  /** Accessor of the caller, id of a team's token, "" for a batch token; absent when the token was not accepted. */
  readonly accessor?: string;
  readonly display_name?: string;
  readonly entity_id?: string;
  /** Keyed hash of the token that was sent. */
  readonly token_hash?: string;
}

/** A path segment in the shape of a token: somebody put it there by mistake or by an older client's habit. */
const TOKEN_SEGMENT = /(^|\/)(?:(?:s|b|r|hvs|hvb|hvr)\.|[0-9A-Za-z]{14}\.atlasv1\.)[^/]+/g;

/** `hmac-sha256:` and the hex of the keyed hash of a secret, the same for the same secret in every line. */
export async function auditHash(keys: Keys, secret: string): Promise<string> {
  return `hmac-sha256:${toHex(await keyedHash(keys.audit, new TextEncoder().encode(secret)))}`;
}

/** The hash of a token that was sent with a request. `accepted`: garbage must not push out the hashes of real tokens. */
export async function auditTokenHash(installation: Installation, token: string, accepted: boolean): Promise<string> {
  const known = installation.tokenHashes.get(token);
  if (known !== undefined) return known;
  const hash = await auditHash(installation.keys, token);
  if (accepted) installation.tokenHashes.set(token, hash, token.length);
  return hash;
}

/**
 * A path that no endpoint serves, or that was not judged. Older clients put tokens into paths of the token method that do
 * not exist here, and a token that root chose has no shape to know it by: of those paths only the mount is logged.
 */
export function unservedPath(path: string): string {
  return /^\/*auth\/token\//.test(path) ? "auth/token/<unknown>" : path;
}

/** A path fit for the audit line. */
export function auditPath(path: string): string {
  return path.replace(TOKEN_SEGMENT, "$1<token>");
}

/** Writes one line of JSON to the log. */
export function writeAuditLine(line: AuditLine): void {
  console.log(JSON.stringify(line));
}
