import { formatRfc3339, type Ms } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { equalBytes, fromBase64, toBase64 } from "../../../crypto/bytes.ts";
import { type Keys, keyedHash } from "../../../crypto/key-ring.ts";
import type { Mount } from "../../../system/mount.ts";
import { view } from "../../../wire/view.ts";
import type { RoleGrant } from "./role-grant.ts";

/** A login of an instance that has passed all other checks. */
export interface InstanceLogin
  extends Pick<AccessEntry, "role" | "pendingTime" | "pendingTimeMs">,
    Pick<RoleGrant, "allowMigration" | "disallowReauthentication"> {
  readonly nonce: PresentedNonce;
  /** Not before the expiry of any token of this login: until then the entry protects against a replay. */
  readonly expiresAt: Ms;
}

/**
 * Decides whether an instance may log in, and returns its new entry.
 * A document is no secret, so the nonce binds the instance to the client of its first login. After a migration to a new
 * host the document has a newer pendingTime; if the role allows migration, another nonce is then accepted and replaces
 * the previous one. Once reauthentication is disallowed, it stays so until the entry is deleted.
 * Messages are those of the reference's AWS method (login). `entry` is null for the first login of the instance.
 */
export function decideLogin(entry: AccessEntry | null, login: InstanceLogin, now: Ms): Result<AccessEntry> {
  const { nonce, pendingTime, pendingTimeMs, expiresAt } = login;
  const nonceHash = login.disallowReauthentication || nonce.kind === "none" ? null : nonce.hash;
  const changed = { pendingTime, pendingTimeMs, expiresAt, updatedAt: now, nonceHash };
  if (!entry) return ok({ ...changed, role: login.role, createdAt: now });

  if (entry.nonceHash === null || (nonce.kind === "none" && nonce.reserved)) {
    return refuse("reauthentication is disabled");
  }
  const knows = nonce.kind === "sent" && sameHash(nonce.hash, entry.nonceHash);
  if (!knows && !login.allowMigration) return refuse("client nonce mismatch");
  if (!knows && pendingTimeMs <= entry.pendingTimeMs) {
    return refuse("client nonce mismatch and instance meta-data incorrect");
  }
  if (pendingTimeMs < entry.pendingTimeMs) {
    return refuse("instance meta-data is older than the one used for previous login");
  }
  // Tokens that were issued before the role's lifetime was shortened keep their lifetimes.
  return ok({ ...entry, ...changed, expiresAt: Math.max(entry.expiresAt, expiresAt) });
}

function sameHash(a: string, b: string): boolean {
  const [left, right] = [fromBase64(a), fromBase64(b)];
  return left !== null && right !== null && equalBytes(left, right);
}

/** The entry of an instance in the access list. */
export interface AccessEntry {
  /** The role of the first login. */
  readonly role: string;
  /** Base64 of the keyed hash of the nonce that the next login must have; null when no further login is possible. */
  readonly nonceHash: string | null;
  readonly createdAt: Ms;
  readonly updatedAt: Ms;
  readonly expiresAt: Ms;
  /** From the document of the last login, as written there and in ms. */
  readonly pendingTime: string;
  readonly pendingTimeMs: Ms;
}

/** Only a hash of the nonce is stored: readers of the list must not be able to log in as its instances. */
export const ENTRY_VIEW = view<AccessEntry>({
  role: ["string", (entry) => entry.role],
  client_nonce: ["string", () => ""],
  creation_time: ["string", (entry) => formatRfc3339(entry.createdAt)],
  disallow_reauthentication: ["boolean", (entry) => entry.nonceHash === null],
  pending_time: ["string", (entry) => entry.pendingTime],
  expiration_time: ["string", (entry) => formatRfc3339(entry.expiresAt)],
  last_updated_time: ["string", (entry) => formatRfc3339(entry.updatedAt)],
});

/** The nonce of a login. Hashes are base64. */
export type PresentedNonce =
  | { readonly kind: "sent"; readonly hash: string }
  /** The client sent none, and gets this one for its next login. */
  | { readonly kind: "generated"; readonly hash: string }
  /** The client wants no next login. */
  | { readonly kind: "none"; readonly reserved: boolean };

/** Some clients send this when they have no nonce. */
const RESERVED_NONCE = "reauthentication-disabled-nonce";
const MAX_NONCE_BYTES = 128;

/** The nonce of a login. `generated`: the new one for the client, a secret; null for others. */
type PreparedNonce = { readonly nonce: PresentedNonce; readonly generated: string | null };

/** Reads the nonce of a login. `sent` is undefined when the field is absent; null or "" disables reauthentication. */
export async function prepareNonce(
  keys: Keys,
  mount: Pick<Mount, "uuid">,
  instanceId: string,
  sent: string | null | undefined,
): Promise<Result<PreparedNonce>> {
  if (sent === undefined) {
    const generated = crypto.randomUUID();
    const hash = await hashNonce(keys, mount, instanceId, generated);
    return ok({ nonce: { kind: "generated", hash }, generated });
  }
  if (sent === null || sent === "" || sent === RESERVED_NONCE) {
    return ok({ nonce: { kind: "none", reserved: sent === RESERVED_NONCE }, generated: null });
  }
  if (new TextEncoder().encode(sent).length > MAX_NONCE_BYTES) {
    return refuse(`client nonce exceeding the limit of ${MAX_NONCE_BYTES} characters`);
  }
  return ok({ nonce: { kind: "sent", hash: await hashNonce(keys, mount, instanceId, sent) }, generated: null });
}

/** The hash depends on mount and instance too: equal nonces of two entries have different hashes. */
async function hashNonce(keys: Keys, { uuid }: Pick<Mount, "uuid">, instanceId: string, nonce: string) {
  const text = JSON.stringify(["cloud nonce", uuid, instanceId, nonce]);
  return toBase64(await keyedHash(keys.identity, new TextEncoder().encode(text)));
}
