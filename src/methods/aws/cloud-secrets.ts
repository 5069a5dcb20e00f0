import type { Keys } from "../../crypto/key-ring.ts";
import type { Mount } from "../../system/mount.ts";
import { openSecret, sealedSecretsIn, sealSecret } from "../sealed-secret.ts";

type MountUuid = Pick<Mount, "uuid">;

/** Seals a secret of a mount, in base64. It opens only for the same mount and purpose (`what`). */
export function sealCloudSecret(keys: Keys, mount: MountUuid, what: string, secret: string): Promise<string> {
  return sealSecret(keys, contextOf(mount, what), secret);
}

/** Opens a sealed secret. @throws when it was sealed for another mount or purpose: a bug, or tampering. */
export function openCloudSecret(keys: Keys, mount: MountUuid, what: string, sealed: string): Promise<string> {
  return openSecret(keys, contextOf(mount, what), sealed);
}

/** The sealed secrets in the JSON of a setting or role. */
export function cloudSecretsIn(json: string): Uint8Array[] {
  return sealedSecretsIn(json, ["sealedSecretKey", "sealedTagKey"]);
}

function contextOf({ uuid }: MountUuid, what: string): string {
  return `cloud ${uuid} ${what}`;
}
