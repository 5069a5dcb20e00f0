import type { Keys } from "../../crypto/key-ring.ts";
import type { Mount } from "../../system/mount.ts";
import { openSecret, sealedSecretsIn, sealSecret } from "../sealed-secret.ts";
import type { KubernetesConfig } from "./config.ts";

/** The mount, and the host that the reviewer may be sent to. */
type Place = readonly [mount: Pick<Mount, "uuid">, host: string];

/** Seals the token that asks for reviews, in base64. It opens only for the same mount and host. */
export function sealReviewer(keys: Keys, [mount, host]: Place, reviewer: string): Promise<string> {
  return sealSecret(keys, contextOf(mount, host), reviewer);
}

/** Returns the token that asks for reviews; null for none. @throws when it does not open: a bug, or tampering. */
export async function openReviewer(
  keys: Keys,
  mount: Pick<Mount, "uuid">,
  { host, sealedReviewer }: Pick<KubernetesConfig, "host" | "sealedReviewer">,
): Promise<string | null> {
  return sealedReviewer === null ? null : openSecret(keys, contextOf(mount, host), sealedReviewer);
}

/** The sealed reviewer in the JSON of a setting. */
export function sealedReviewerIn(json: string): Uint8Array[] {
  return sealedSecretsIn(json, ["sealedReviewer"]);
}

function contextOf({ uuid }: Pick<Mount, "uuid">, host: string): string {
  return `kubernetes ${uuid} reviewer ${host}`;
}
