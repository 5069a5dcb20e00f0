import { fromBase64Url } from "../crypto/bytes.ts";
import { ADDRESS_BYTES, readAddress, routedIdText } from "../token/ids.ts";

/**
 * The classes beside trees, which come first, in the order in which a backup reads them: what refers to others comes before them, so
 * that no row of the backup names something that is not in it. The System object is the last: its watermarks, keys and policies are
 * not older than anything else.
 */
export const NAMED_CLASSES = [
  "CustomIds",
  "Team",
  "Organization",
  "OrganizationDirectory",
  "EntityShard",
  "Identity",
  "TokenRoles",
  "TokenRevocations",
  "CloudAccessList",
  "CloudAuth",
  "JwtAuth",
  "OidcIssuer",
  "System",
] as const;
const ORDER = ["TokenTree", ...NAMED_CLASSES] as const;
export type SavedClass = (typeof ORDER)[number];

/** Where an object is: a tree by its id, all others by their names. */
export interface ObjectPlace {
  readonly className: SavedClass;
  readonly name: string;
}

const LETTERS = new Map<string, string>(ORDER.map((className, at) => [className, String.fromCharCode(97 + at)]));

/** The key of an object: a backup reads objects in the order of their keys. */
export function keyOf(className: SavedClass, name: string): string {
  return `${LETTERS.get(className)} ${name}`;
}

/** The key of a tree: trees are read in the order in which their accessors are listed. */
export function keyOfTree(treeId: string): string {
  return keyOf("TokenTree", routedIdText(treeId, 0, new Uint8Array()));
}

/** What all keys of a class begin with, which is no key itself. */
export function beginningOf(className: SavedClass): string {
  return keyOf(className, "");
}

/** The object with this key; null when it is no key. */
export function placeOf(key: string): ObjectPlace | null {
  const className = ORDER.find((one) => key.startsWith(beginningOf(one)));
  if (!className) return null;
  const name = key.slice(beginningOf(className).length);
  if (className !== "TokenTree") return { className, name };
  const address = fromBase64Url(name);
  return address?.length === ADDRESS_BYTES ? { className, name: readAddress(address).treeId } : null;
}

/** True for the key of the System object. */
export function isSystem(key: string): boolean {
  return key.startsWith(beginningOf("System"));
}

/** True for the name of a class that backups hold. */
export function isSavedClass(className: unknown): className is SavedClass {
  return ORDER.some((one) => one === className);
}
