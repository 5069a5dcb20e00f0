import type { Keys } from "../../crypto/key-ring.ts";
import { openText, sealText } from "../../crypto/sealed-data.ts";
import { storedJson } from "../../storage/tables.ts";
import type { TokenAddress } from "../../token/ids.ts";

/** Seals a value for the cubbyhole of one token. */
export function sealValue(
  keys: Keys,
  owner: TokenAddress,
  path: string,
  value: Readonly<Record<string, unknown>>,
): Promise<Uint8Array<ArrayBuffer>> {
  return sealText(keys, context(owner, path), JSON.stringify(value));
}

/** Opens a value that was sealed for this token and path. @throws for anything else: the storage is damaged. */
export async function openValue(
  keys: Keys,
  owner: TokenAddress,
  path: string,
  sealed: Uint8Array,
): Promise<Record<string, unknown>> {
  const plain = await openText(keys, context(owner, path), sealed);
  if (plain === null) throw new Error("a cubbyhole value does not open");
  return storedJson<Record<string, unknown>>(plain);
}

/** Binds a value to its token and path: a copy at another row or path in the storage does not open. */
function context({ treeId, row }: TokenAddress, path: string): string {
  return `cubbyhole ${treeId} ${row} ${path}`;
}
