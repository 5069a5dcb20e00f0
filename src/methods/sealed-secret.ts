import { fromBase64, toBase64 } from "../crypto/bytes.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { openText, sealText } from "../crypto/sealed-data.ts";
import { isObject } from "../wire/fields.ts";

/** Seals a secret of a mount, in base64. It opens only with the same context, which names the mount and the purpose. */
export async function sealSecret(keys: Keys, context: string, secret: string): Promise<string> {
  return toBase64(await sealText(keys, context, secret));
}

/** Opens a sealed secret. @throws when it was sealed with another context: a bug, or tampering. */
export async function openSecret(keys: Keys, context: string, sealed: string): Promise<string> {
  const bytes = fromBase64(sealed);
  const plain = bytes && (await openText(keys, context, bytes));
  if (plain === null) throw new Error("a secret of a mount does not open");
  return plain;
}

/** The sealed secrets in the JSON of a setting or role. @param fields names of the fields that can have a secret. */
export function sealedSecretsIn(json: string, fields: readonly string[]): Uint8Array[] {
  const value: unknown = JSON.parse(json);
  if (!isObject(value)) return [];
  return fields.flatMap((name) => {
    const text = value[name];
    const bytes = typeof text === "string" ? fromBase64(text) : null;
    return bytes ? [bytes] : [];
  });
}
