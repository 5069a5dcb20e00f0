import { fromBase64, toBase64 } from "../../../crypto/bytes.ts";
import type { Keys } from "../../../crypto/key-ring.ts";
import { openText, sealText } from "../../../crypto/sealed-data.ts";
import type { Mount } from "../../../system/mount.ts";
import { isObject } from "../../../wire/fields.ts";
import type { JwtConfig } from "../config.ts";

type MountUuid = Pick<Mount, "uuid">;
type Client = Pick<JwtConfig, "discoveryUrl" | "clientId">;

/** Seals the client's secret, in base64. It opens only for the same mount, issuer and client. */
export async function sealClientSecret(keys: Keys, mount: MountUuid, client: Client, secret: string): Promise<string> {
  return toBase64(await sealText(keys, contextOf(mount, client), secret));
}

/** Returns the client's secret; null without one. @throws when it does not open: a bug, or tampering. */
export async function openClientSecret(
  keys: Keys,
  mount: MountUuid,
  config: Client & Pick<JwtConfig, "sealedClientSecret">,
): Promise<string | null> {
  if (config.sealedClientSecret === undefined) return null;
  const bytes = fromBase64(config.sealedClientSecret);
  const plain = bytes && (await openText(keys, contextOf(mount, config), bytes));
  if (plain === null) throw new Error("the client's secret of a jwt mount does not open");
  return plain;
}

/** The sealed secret in the JSON of a setting. */
export function clientSecretIn(json: string): Uint8Array[] {
  const value: unknown = JSON.parse(json);
  const text = isObject(value) ? value.sealedClientSecret : null;
  const bytes = typeof text === "string" ? fromBase64(text) : null;
  return bytes ? [bytes] : [];
}

function contextOf({ uuid }: MountUuid, { discoveryUrl, clientId = "" }: Client): string {
  return `jwt ${uuid} client ${JSON.stringify([discoveryUrl, clientId])}`;
}
