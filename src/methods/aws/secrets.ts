import { fromBase64, toBase64 } from "../../crypto/bytes.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { openText, sealText } from "../../crypto/sealed-data.ts";
import type { Mount } from "../../system/mount.ts";
import { isObject } from "../../wire/fields.ts";

/** Fields of settings and roles that have a sealed secret or null. */
const SEALED_FIELDS = ["sealedSecretKey", "sealedTagKey"] as const;

/** Seals a secret of a mount, in base64. It opens only for the same mount and purpose (`what`). */
export async function sealSecret(keys: Keys, mount: Pick<Mount, "uuid">, what: string, secret: string) {
  return toBase64(await sealText(keys, contextOf(mount, what), secret));
}

/** Opens a sealed secret. @throws when it was sealed for another mount or purpose: a bug, or tampering. */
export async function openSecret(keys: Keys, mount: Pick<Mount, "uuid">, what: string, sealed: string) {
  const bytes = fromBase64(sealed);
  const plain = bytes && (await openText(keys, contextOf(mount, what), bytes));
  if (plain === null) throw new Error("a secret of a cloud mount does not open");
  return plain;
}

/** The sealed secrets in the JSON of a setting or role. */
export function sealedTexts(json: string): Uint8Array[] {
  const value: unknown = JSON.parse(json);
  if (!isObject(value)) return [];
  return SEALED_FIELDS.flatMap((name) => {
    const text = value[name];
    const bytes = typeof text === "string" ? fromBase64(text) : null;
    return bytes ? [bytes] : [];
  });
}

function contextOf(mount: Pick<Mount, "uuid">, what: string): string {
  return `cloud ${mount.uuid} ${what}`;
}
