import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { toBase64 } from "../../../crypto/bytes.ts";
import { type Keys, keyedHash } from "../../../crypto/key-ring.ts";
import type { Mount } from "../../../system/mount.ts";

/** The nonce of a login as the rules see it. Hashes are base64. */
export type PresentedNonce =
  | { readonly kind: "sent"; readonly hash: string }
  /** The client sent none; this new one is for its next login. */
  | { readonly kind: "generated"; readonly hash: string }
  /** The client wants no next login. */
  | { readonly kind: "none"; readonly reserved: boolean };

/** A nonce, and the new one for the client, if any. */
export interface PreparedNonce {
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
): Promise<Result<PreparedNonce, Failure>> {
  if (sent === undefined) {
    const generated = crypto.randomUUID();
    const hash = await hashNonce(keys, mount, instanceId, generated);
    return ok({ nonce: { kind: "generated", hash }, generated });
  }
  if (sent === null || sent === "" || sent === RESERVED_NONCE) {
    return ok({ nonce: { kind: "none", reserved: sent === RESERVED_NONCE }, generated: null });
  }
  if (new TextEncoder().encode(sent).length > MAX_NONCE_BYTES) {
    return err(invalid(`client nonce exceeding the limit of ${MAX_NONCE_BYTES} characters`));
  }
  return ok({ nonce: { kind: "sent", hash: await hashNonce(keys, mount, instanceId, sent) }, generated: null });
}

/** Bound to mount and instance: the hash of one entry says nothing about another, whatever nonces clients choose. */
async function hashNonce(keys: Keys, { uuid }: Pick<Mount, "uuid">, instanceId: string, nonce: string) {
  const text = JSON.stringify(["cloud nonce", uuid, instanceId, nonce]);
  return toBase64(await keyedHash(keys.identity, new TextEncoder().encode(text)));
}
