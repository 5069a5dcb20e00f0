import type { Order, Position } from "./order.ts";

/** Whole numbers with a point between: key, id and shard. */
const CURSOR = /^(c|e)(a|d)(\d{1,16})\.(\d{1,16})\.(\d{1,4})$/;

/** A position as clients get it. It names its order, so that it can't be taken for one of another order. */
export function cursorText({ by, descending }: Order, { key, id, shard }: Position): string {
  return `${by === "created" ? "c" : "e"}${descending ? "d" : "a"}${key}.${id}.${shard}`;
}

/** Reads a cursor for `order`. Null for a text that is none, or of another order. */
export function readCursor(order: Order, text: string): Position | null {
  const match = CURSOR.exec(text);
  if (!match) return null;
  const position = { key: Number(match[3]), id: Number(match[4]), shard: Number(match[5]) };
  if (!Number.isSafeInteger(position.key) || !Number.isSafeInteger(position.id)) return null;
  return cursorText(order, position) === text ? position : null;
}
