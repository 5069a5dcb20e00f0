import { fromBase64, toBase64 } from "../../crypto/bytes.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { openText, sealText } from "../../crypto/sealed-data.ts";
import type { Mount } from "../../system/mount.ts";

/** Fields of settings and roles that hold such a secret, or null. */
const SEALED_FIELDS = ["sealedSecretKey", "sealedTagKey"] as const;

/** A secret as objects store it: base64 of what only the Worker's key ring opens. */
export type SealedText = string;

/**
 * Seals a secret of a mount.
 *
 * @param what the one thing that the secret is for. Copied to another mount or purpose it would not open.
 */
export async function sealSecret(keys: Keys, mount: Pick<Mount, "uuid">, what: string, secret: string) {
  const sealed = await sealText(keys, contextOf(mount, what), secret);
  return toBase64(sealed) satisfies SealedText;
}

/** Opens what `sealSecret` made for the same mount and purpose. Anything else in the storage is a bug or tampering. */
export async function openSecret(keys: Keys, mount: Pick<Mount, "uuid">, what: string, sealed: SealedText) {
  const bytes = fromBase64(sealed);
  const plain = bytes && (await openText(keys, contextOf(mount, what), bytes));
  if (plain === null) throw new Error("a secret of a cloud mount does not open");
  return plain;
}

/** The secrets in a value of a mount as JSON, as `sealText` made them. */
export function sealedTexts(json: string): Uint8Array[] {
  const value: unknown = JSON.parse(json);
  if (typeof value !== "object" || value === null) return [];
  return SEALED_FIELDS.flatMap((name) => {
    const text: unknown = Reflect.get(value, name);
    const bytes = typeof text === "string" ? fromBase64(text) : null;
    return bytes ? [bytes] : [];
  });
}

function contextOf(mount: Pick<Mount, "uuid">, what: string): string {
  return `cloud ${mount.uuid} ${what}`;
}
