import { runInDurableObject } from "cloudflare:test";

/** Rows that the statements of an object touched. */
export interface Cost {
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** Runs `work` and adds up the rows that the object behind `stub` reads and writes meanwhile. */
export async function costOf(stub: DurableObjectStub, work: () => Promise<unknown>): Promise<Cost> {
  const cursors: { rowsRead: number; rowsWritten: number }[] = [];
  let cost: Cost;
  const restore = await runInDurableObject(stub, (_, state) => {
    const { sql } = state.storage;
    const original = sql.exec;
    sql.exec = function exec(this: SqlStorage, ...args: Parameters<typeof original>) {
      const cursor = original.apply(sql, args);
      cursors.push(cursor);
      return cursor;
    } as typeof original;
    return () => {
      sql.exec = original;
    };
  });
  // A cursor that was not read to its end belongs to its object and shows its cost only there.
  const total = () =>
    runInDurableObject(stub, () => {
      restore();
      return {
        rowsRead: cursors.reduce((sum, cursor) => sum + cursor.rowsRead, 0),
        rowsWritten: cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, 0),
      };
    });
  try {
    await work();
  } finally {
    cost = await total();
  }
  return cost;
}
