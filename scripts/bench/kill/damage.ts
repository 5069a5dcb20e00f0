import { randomBytes } from "node:crypto";
import { decodeStoredId, newRow, routedIdText } from "../../../src/token/ids.ts";
import { seedAccessors } from "../seed/accessors.ts";
import { newObjectId } from "../seed/installation.ts";
import type { GroveBuild } from "../servers/grove.ts";

const DAY_MS = 86_400_000;
/** Random part and tag of an accessor. */
const TAIL_BYTES = 24;
/** One accessor in this many names a tree that does not exist. */
const SOME = 20;

/**
 * Lists `count` accessors that no token has, most of them of a tree that exists, so that tidy has something to do. The
 * server must be stopped.
 *
 * @param listed an accessor that the API gave.
 * @returns the accessors, to be seen gone at the end.
 */
export function danglingAccessors(build: GroveBuild, data: string, listed: string, count: number): string[] {
  const tree = decodeStoredId(listed)?.treeId ?? "";
  const longAgo = Date.now() - DAY_MS;
  const accessors = Array.from({ length: count }, (_, number) => {
    const treeId = number % SOME === 0 ? newObjectId(build, data, "TokenTree") : tree;
    return routedIdText(treeId, newRow(longAgo - number), randomBytes(TAIL_BYTES));
  });
  seedAccessors(build, data, listed, accessors);
  return accessors;
}
