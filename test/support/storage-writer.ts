import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { forgetPublishedKeys } from "../../src/issuer/tokens.ts";
import { forgetInstallation } from "../../src/system/installation.ts";

type Values = Readonly<Record<string, SqlStorageValue | Uint8Array>>;

/** Writes to the database of an object what no request writes there; the object goes on. */
export async function alter(
  stub: DurableObjectStub,
  statement: string,
  ...values: (SqlStorageValue | Uint8Array)[]
): Promise<void> {
  await runInDurableObject(stub, (_, { storage: { sql } }) => void sql.exec(statement, ...values));
}

/** Puts rows into a table of an object. */
export async function insertRows(stub: DurableObjectStub, table: string, rows: readonly Values[]): Promise<void> {
  await runInDurableObject(stub, (_, { storage: { sql } }) => {
    for (const row of rows) {
      const names = Object.keys(row);
      const places = names.map(() => "?").join(", ");
      sql.exec(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${places})`, ...Object.values(row));
    }
  });
}

/** Changes the rows of a table of an object that have these values, or all. */
export async function changeRows(
  stub: DurableObjectStub,
  table: string,
  changes: Values,
  having: Values = {},
): Promise<void> {
  const set = Object.keys(changes).map((name) => `${name} = ?`);
  await alter(
    stub,
    `UPDATE ${table} SET ${set.join(", ")} ${where(having)}`,
    ...Object.values(changes),
    ...Object.values(having),
  );
}

/** Deletes the rows of a table of an object that have these values, or all. */
export async function deleteRows(stub: DurableObjectStub, table: string, having: Values = {}): Promise<void> {
  await alter(stub, `DELETE FROM ${table} ${where(having)}`, ...Object.values(having));
}

function where(having: Values): string {
  const terms = Object.keys(having).map((name) => `${name} IS ?`);
  return terms.length === 0 ? "" : `WHERE ${terms.join(" AND ")}`;
}

/** Has somebody without keys write to the database of an object while the server is stopped. */
export async function writeStorage(stub: DurableObjectStub, ...statements: readonly string[]): Promise<void> {
  await runInDurableObject(stub, (_, { storage: { sql } }) => {
    for (const statement of statements) sql.exec(statement);
  });
  await evictDurableObject(stub);
  forgetInstallation();
  forgetPublishedKeys();
}

/** The lines about tampering that are logged from now on. */
export function tamperingLines(): () => Record<string, unknown>[] {
  const log = vi.spyOn(console, "error").mockReturnValue(undefined);
  return () =>
    log.mock.calls
      .map(([line]) => JSON.parse(String(line)) as Record<string, unknown>)
      .filter(({ type }) => type === "tampering");
}
