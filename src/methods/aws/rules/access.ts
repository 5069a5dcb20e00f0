import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { equalBytes, fromBase64 } from "../../../crypto/bytes.ts";
import { view } from "../../../wire/view.ts";
import type { PresentedNonce } from "./nonce.ts";

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
export function decideLogin(
  entry: AccessEntry | null,
  login: InstanceLogin,
  now: number,
): Result<AccessEntry, Failure> {
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

function refuse(message: string): Result<never, Failure> {
  return err(invalid(message));
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
