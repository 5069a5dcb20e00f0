import { fromBase64, toBase64 } from "../../crypto/bytes.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { openText, sealText } from "../../crypto/sealed-data.ts";
import type { Mount } from "../../system/mount.ts";
import { isObject } from "../../wire/fields.ts";
import type { KubernetesConfig } from "./config.ts";

/** The mount, and the host that the reviewer may be sent to. */
type Place = readonly [mount: Pick<Mount, "uuid">, host: string];

/** Seals the token that asks for reviews, in base64. It opens only for the same mount and host. */
export async function sealReviewer(keys: Keys, [mount, host]: Place, reviewer: string): Promise<string> {
  return toBase64(await sealText(keys, contextOf(mount, host), reviewer));
}

/** Returns the token that asks for reviews; null for none. @throws when it does not open: a bug, or tampering. */
export async function openReviewer(
  keys: Keys,
  mount: Pick<Mount, "uuid">,
  { host, sealedReviewer }: Pick<KubernetesConfig, "host" | "sealedReviewer">,
): Promise<string | null> {
  if (sealedReviewer === null) return null;
  const bytes = fromBase64(sealedReviewer);
  const plain = bytes && (await openText(keys, contextOf(mount, host), bytes));
  if (plain === null) throw new Error("the reviewer of a kubernetes mount does not open");
  return plain;
}

/** The sealed reviewer in the JSON of a setting. */
export function sealedReviewerIn(json: string): Uint8Array[] {
  const value: unknown = JSON.parse(json);
  const text = isObject(value) ? value.sealedReviewer : null;
  const bytes = typeof text === "string" ? fromBase64(text) : null;
  return bytes ? [bytes] : [];
}

function contextOf({ uuid }: Pick<Mount, "uuid">, host: string): string {
  return `kubernetes ${uuid} reviewer ${host}`;
}
