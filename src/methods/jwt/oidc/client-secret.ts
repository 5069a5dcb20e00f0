import type { Keys } from "../../../crypto/key-ring.ts";
import type { Mount } from "../../../system/mount.ts";
import { openSecret, sealedSecretsIn, sealSecret } from "../../sealed-secret.ts";
import type { JwtConfig } from "../config.ts";

type MountUuid = Pick<Mount, "uuid">;
type Client = Pick<JwtConfig, "discoveryUrl" | "clientId">;

/** Seals the client's secret, in base64. It opens only for the same mount, issuer and client. */
export function sealClientSecret(keys: Keys, mount: MountUuid, client: Client, secret: string): Promise<string> {
  return sealSecret(keys, contextOf(mount, client), secret);
}

/** Returns the client's secret; null without one. @throws when it does not open: a bug, or tampering. */
export async function openClientSecret(
  keys: Keys,
  mount: MountUuid,
  config: Client & Pick<JwtConfig, "sealedClientSecret">,
): Promise<string | null> {
  const { sealedClientSecret: sealed } = config;
  return sealed === undefined ? null : openSecret(keys, contextOf(mount, config), sealed);
}

/** The sealed secret in the JSON of a setting. */
export function clientSecretIn(json: string): Uint8Array[] {
  return sealedSecretsIn(json, ["sealedClientSecret"]);
}

function contextOf({ uuid }: MountUuid, { discoveryUrl, clientId = "" }: Client): string {
  return `jwt ${uuid} client ${JSON.stringify([discoveryUrl, clientId])}`;
}
