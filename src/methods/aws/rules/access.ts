import { ok, type Result, refuse } from "../../../base/result.ts";
import { equalBytes, fromBase64, toBase64 } from "../../../crypto/bytes.ts";
import { type Keys, keyedHash } from "../../../crypto/key-ring.ts";
import type { Mount } from "../../../system/mount.ts";
import { view } from "../../../wire/view.ts";

/** A login of an instance that has passed everything else. */
export interface InstanceLogin {
  /** In lower case. */
  readonly role: string;
  readonly nonce: PresentedNonce;
  /** As the signed document has it, and in ms. */
  readonly pendingTime: string;
  readonly pendingTimeMs: number;
  /** The role allows it and, where there is a role tag, the tag does too. */
  readonly allowMigration: boolean;
  /** The role or the role tag says so. */
  readonly disallowReauthentication: boolean;
  /** ms. Not before the end of any token that comes of this login, for the entry guards against replay that long. */
  readonly expiresAt: number;
}

/**
 * Decides whether an instance may log in (again), and what is remembered of it.
 *
 * The nonce ties an instance to the client that logged in first: documents are no secret. After a migration to a new host, which
 * shows as a newer pendingTime, another nonce is taken where the role allows that, and is the one that counts from then
 * on. Once reauthentication is disallowed, it stays so until the entry is deleted. Messages are those of the reference's AWS method (login).
 *
 * @param entry what is remembered of the instance, null for its first login.
 * @param now ms.
 */
export function decideLogin(entry: AccessEntry | null, login: InstanceLogin, now: number): Result<AccessEntry> {
  const { nonce } = login;
  const ends = login.disallowReauthentication || nonce.kind === "none";
  const newHash = ends ? null : nonce.hash;
  if (!entry) return ok({ ...remember(login, now), role: login.role, createdAt: now, nonceHash: newHash });

  if (entry.nonceHash === null || (nonce.kind === "none" && nonce.reserved)) {
    return refuse("reauthentication is disabled");
  }
  const knows = nonce.kind === "sent" && sameHash(nonce.hash, entry.nonceHash);
  if (!knows && !login.allowMigration) return refuse("client nonce mismatch");
  if (!knows && login.pendingTimeMs <= entry.pendingTimeMs) {
    return refuse("client nonce mismatch and instance meta-data incorrect");
  }
  if (login.pendingTimeMs < entry.pendingTimeMs) {
    return refuse("instance meta-data is older than the one used for previous login");
  }
  return ok({
    ...remember(login, now),
    role: entry.role,
    createdAt: entry.createdAt,
    nonceHash: newHash,
    // A role whose lifetime was shortened does not shorten the lifetimes of the tokens that it gave before.
    expiresAt: Math.max(entry.expiresAt, login.expiresAt),
  });
}

function remember({ pendingTime, pendingTimeMs, expiresAt }: InstanceLogin, now: number) {
  return { pendingTime, pendingTimeMs, expiresAt, updatedAt: now };
}

function sameHash(a: string, b: string): boolean {
  const [left, right] = [fromBase64(a), fromBase64(b)];
  return left !== null && right !== null && equalBytes(left, right);
}

/** What is remembered of the logins of one instance. Times in ms. */
export interface AccessEntry {
  /** The role of the first login. */
  readonly role: string;
  /** Base64 of the keyed hash of the nonce that the next login must show; null when there can't be a next login. */
  readonly nonceHash: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number;
  /** From the document of the last login, as written there and in ms. */
  readonly pendingTime: string;
  readonly pendingTimeMs: number;
}

/**
 * What a read shows of an entry. The nonce is kept as a hash only: who may read this list should not be able to log in as
 * every instance on it.
 */
export const ENTRY_VIEW = view<AccessEntry>({
  role: ["string", (entry) => entry.role],
  client_nonce: ["string", () => ""],
  creation_time: ["string", (entry) => new Date(entry.createdAt).toISOString()],
  disallow_reauthentication: ["boolean", (entry) => entry.nonceHash === null],
  pending_time: ["string", (entry) => entry.pendingTime],
  expiration_time: ["string", (entry) => new Date(entry.expiresAt).toISOString()],
  last_updated_time: ["string", (entry) => new Date(entry.updatedAt).toISOString()],
});

/** The nonce of a login as the rules see it. Hashes are base64. */
export type PresentedNonce =
  | { readonly kind: "sent"; readonly hash: string }
  /** The client sent none; this new one is for its next login. */
  | { readonly kind: "generated"; readonly hash: string }
  /** The client wants no next login. */
  | { readonly kind: "none"; readonly reserved: boolean };

/** A nonce, and the new one for the client, if any. */
interface PreparedNonce {
  readonly nonce: PresentedNonce;
  /** A secret; null unless generated. */
  readonly generated: string | null;
}

/** What some clients send in place of a nonce when they have none. */
const RESERVED_NONCE = "reauthentication-disabled-nonce";
const MAX_NONCE_BYTES = 128;

/**
 * Reads the nonce of a login.
 *
 * @param sent undefined when the field is absent; null counts as empty, which ends reauthentication.
 */
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

/** Bound to mount and instance: the hash of one entry says nothing about another, whatever nonces clients choose. */
async function hashNonce(keys: Keys, { uuid }: Pick<Mount, "uuid">, instanceId: string, nonce: string) {
  const text = JSON.stringify(["cloud nonce", uuid, instanceId, nonce]);
  return toBase64(await keyedHash(keys.identity, new TextEncoder().encode(text)));
}
