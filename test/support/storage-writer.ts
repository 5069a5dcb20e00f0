import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { forgetPublishedKeys } from "../../src/issuer/published-keys.ts";
import { forgetInstallation } from "../../src/system/installation.ts";
import { crash } from "./objects.ts";

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

/**
 * Copies everything that an object stores, as somebody does who can read and write its storage.
 *
 * @returns puts the copy in place of what the object stores by then, while its server is stopped. Earlier stubs are
 *   broken afterwards.
 */
export async function copyStorage(stub: DurableObjectStub): Promise<(now: DurableObjectStub) => Promise<void>> {
  const tables = await runInDurableObject(stub, (_, { storage: { sql } }) =>
    madeTables(sql).map((table) => ({
      ...table,
      rows: sql.exec<Record<string, SqlStorageValue>>(`SELECT * FROM ${table.name}`).toArray(),
    })),
  );
  return async (now) => {
    await runInDurableObject(now, (_, { storage: { sql } }) => {
      const there = new Set(madeTables(sql).map(({ name }) => name));
      for (const { name, made } of tables) {
        sql.exec(there.has(name) ? `DELETE FROM ${name}` : made);
      }
    });
    for (const { name, rows } of tables) await insertRows(now, name, rows);
    await crash(now);
  };
}

function madeTables(sql: SqlStorage): { name: string; made: string }[] {
  const query = `SELECT name, sql AS made FROM sqlite_master
    WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'`;
  return sql.exec<{ name: string; made: string }>(query).toArray();
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
