/*
 * What becomes of a tree of which nothing is left. On the network it is deleted: an object without storage costs nothing there, and the
 * next tree is made near the client that asks for it. In one process it keeps its file, and its id goes to the pool of a shard: the next
 * login neither makes a file nor waits for the disk as a new object does, and the number of files stays bounded.
 */

let reuses = false;

/** True when the ids of empty trees are handed out again in this deployment. */
export function reusesTrees(): boolean {
  return reuses;
}

/** Chooses whether they are. */
export function useTreeReuse(chosen: boolean): void {
  reuses = chosen;
}
