import { insertRows } from "./storage-writer.ts";
import { locate } from "./trees.ts";

/** Puts `count` small values into the cubbyhole of a token: `n1`, `n2` and so on. */
export async function fillCubbyhole(token: string, count: number, bytes = 1): Promise<void> {
  const { stub, row } = await locate(token);
  const value = new Uint8Array(bytes);
  const rows = Array.from({ length: count }, (_, at) => ({ row, path: `n${at + 1}`, value }));
  await insertRows(stub, "cubbyhole", rows);
}

/** Puts values into the tree of a token that belong to these rows, one for each, and the rows are of no token. */
export async function putStrayValues(token: string, rows: readonly number[]): Promise<void> {
  const { stub } = await locate(token);
  const value = new Uint8Array(1);
  await insertRows(
    stub,
    "cubbyhole",
    rows.map((row, at) => ({ row, path: `stray-${at}`, value })),
  );
}
