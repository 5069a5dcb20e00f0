import { fromBase64Url } from "../crypto/bytes.ts";
import { ADDRESS_BYTES, readAddress, routedIdText } from "../token/ids.ts";

/**
 * The classes of objects in a backup, in the order in which it reads them after the trees. A class that refers to another
 * one comes before it, so that no row of the backup names an object that is missing. The System object is the last: its
 * watermarks, keys and policies are as new as everything else, or newer.
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
export type NamedClass = (typeof NAMED_CLASSES)[number];

const ORDER = ["TokenTree", ...NAMED_CLASSES] as const;
export type SavedClass = (typeof ORDER)[number];

/** Identifies an object: a tree by its id, any other object by its name. */
export interface ObjectPlace {
  readonly className: SavedClass;
  readonly name: string;
}

/** The key of an object: a letter for its class, and its name. A backup reads objects in the order of their keys. */
export function keyOf(className: SavedClass, name: string): string {
  return `${String.fromCharCode(97 + ORDER.indexOf(className))} ${name}`;
}

/** The key of a tree. Trees are in the order in which their accessors are listed. */
export function keyOfTree(treeId: string): string {
  return keyOf("TokenTree", routedIdText(treeId, 0, new Uint8Array()));
}

/** The prefix of all keys of a class. It is no key itself. */
export function beginningOf(className: SavedClass): string {
  return keyOf(className, "");
}

/** The object with this key; null for a text that is no key. */
export function placeOf(key: string): ObjectPlace | null {
  const className = ORDER.find((one) => key.startsWith(beginningOf(one)));
  if (!className) return null;
  const name = key.slice(beginningOf(className).length);
  if (className !== "TokenTree") return { className, name };
  const address = fromBase64Url(name);
  return address?.length === ADDRESS_BYTES ? { className, name: readAddress(address).treeId } : null;
}

/** True for the name of a class that is in backups. */
export function isSavedClass(className: unknown): className is SavedClass {
  return ORDER.some((one) => one === className);
}
