import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import threatModel from "../../../docs/threat-model.md?raw";
import { RowKeys } from "../../../src/crypto/row-keys.ts";
import { RowSeals, type SealedColumns } from "../../../src/storage/row-seals.ts";
import { columnOf, type Migration } from "../../../src/storage/tables.ts";
import { systemStores } from "../../../src/system/system-stores.ts";
import { allSources } from "../../support/all-sources.ts";
import { bindings } from "../../support/service.ts";

// What an attacker who can write the storage may change: every column that no seal covers stands in docs/threat-model.md.

/** The schemas of each class, by the beginnings of the names of their migrations. */
const SCHEMAS: Readonly<Record<string, readonly string[]>> = {
  all: ["ORIGIN", "CARRIED_OUT_CALL"],
  System: ["SYSTEM", "LIST_OPENING", "RESTORE", "SETUP", "POLICY_VERSION", "AUDIT_NUMBER", "AUDIT_BACKLOG"],
  TokenTree: ["TOKEN", "TOKEN_INDEX", "LISTING_MARK", "ROW_FLOOR", "CUBBYHOLE", "LEASE"],
  CustomIds: ["CUSTOM_ID"],
  AccessorShard: ["ACCESSOR_SHARD", "FREE_TREES"],
  LeaseWalk: ["LEASE_WALK"],
  TokenRevocations: ["TOKEN_REVOCATION"],
  TokenRoles: ["TOKEN_ROLE"],
  EntityShard: ["ENTITY_SHARD", "MERGED"],
  Identity: ["IDENTITY", "DIRECTORY_VERSION", "MERGE"],
  OidcIssuer: ["ISSUER"],
  Team: ["TEAM"],
  Organization: ["ORGANIZATION"],
  OrganizationDirectory: ["ORGANIZATION_DIRECTORY"],
  AppRoleAuth: ["APP_ROLE_AUTH"],
  AppRoleSecretIds: ["APP_ROLE_SECRET_ID", "TOKEN_PARENT"],
  CloudAuth: ["CLOUD_AUTH"],
  CloudAccessList: ["CLOUD_ACCESS_LIST"],
  JwtAuth: ["JWT_AUTH"],
  KubernetesAuth: ["KUBERNETES_AUTH"],
  Tidy: ["TIDY", "SHARD_CHECK", "HISTORY", "SYSTEM_MARK"],
  ShardTidy: ["SHARD_TIDY"],
  BackupRuns: ["BACKUP_RUN"],
  AuditShard: ["AUDIT_SHARD"],
  AuditDirectory: ["AUDIT_DIRECTORY"],
};

/** Tables of trees have no `RowSeals`: the seal of a token is in its verifier (src/tree/token-rows.ts). */
const TOKENS = { table: "tokens", kind: "token", key: ["row"], sealed: ["verifier", "accessor", "record"] } as const;

const migrations = new Map(
  allSources()
    .flatMap((module) => Object.entries(module))
    .filter(([name]) => name.endsWith("_MIGRATIONS"))
    .map(([name, list]) => [name.replace("_MIGRATIONS", ""), list as readonly Migration[]]),
);

/** The tables of a class with their columns. */
function tablesOf(className: string): Promise<ReadonlyMap<string, readonly string[]>> {
  return runInDurableObject(bindings.TIDY.getByName(`tables of ${className}`), (_, { storage: { sql } }) => {
    for (const schema of SCHEMAS[className] ?? []) for (const step of migrations.get(schema) ?? []) sql.exec(step.sql);
    // The tables behind a full-text index are part of it.
    const query = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'
      AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'searched_terms\\_%' ESCAPE '\\'`;
    const columns = (table: string) => columnOf<string>(sql, "SELECT name FROM pragma_table_info(?)", table);
    return new Map(columnOf<string>(sql, query).map((table) => [table, columns(table)]));
  });
}

/** The columns that the seals of a class cover. */
function sealsOf(className: string): Promise<readonly SealedColumns[]> {
  if (className === "all") return Promise.resolve([]);
  if (className === "TokenTree") return Promise.resolve([TOKENS]);
  const binding = className.replaceAll(/(?<!^)([A-Z])/g, "_$1").toUpperCase();
  const namespace: DurableObjectNamespace = Reflect.get(bindings, binding);
  return runInDurableObject(namespace.getByName("unsealed columns"), (object, { storage }) => {
    const keys = new RowKeys([{ version: 1, root: new Uint8Array(32), usedFrom: 0 }]);
    if (className === "System") return systemStores(storage.sql, new RowSeals("", () => keys), bindings).seals.shapes;
    const seals: unknown = Reflect.get(object, "seals");
    return seals instanceof RowSeals ? seals.shapes : [];
  });
}

/** The columns that no seal covers, as `table.column`. */
function unsealed(tables: ReadonlyMap<string, readonly string[]>, seals: readonly SealedColumns[]): string[] {
  return [...tables].flatMap(([table, columns]) => {
    const shape = seals.find((one) => one.table === table);
    const covered = shape ? [...shape.key, ...shape.sealed, "seal"] : [];
    return columns.filter((column) => !covered.includes(column)).map((column) => `${table}.${column}`);
  });
}

/** The columns that the threat model lists for a class. `*` stands for all of a table. */
function documented(tables: ReadonlyMap<string, readonly string[]>, className: string): string[] {
  const rows = [...threatModel.matchAll(/^\| (\w+) \| (`.*`) \| .+ \|$/gm)].filter(
    ([, object]) => object === className,
  );
  const entries = rows.flatMap(([, , cell = ""]) => [...cell.matchAll(/`(\w+): ([^`]+)`/g)]);
  return entries.flatMap(([, table = "", columns = ""]) => {
    const named = columns === "*" ? (tables.get(table) ?? ["no such table"]) : columns.split(", ");
    return named.map((column) => `${table}.${column}`);
  });
}

it("all schemas are looked at", () => {
  expect(Object.values(SCHEMAS).flat().sort()).toEqual([...migrations.keys()].sort());
});

it.each(Object.keys(SCHEMAS))("every column of %s has a seal, or stands in the threat model", async (className) => {
  const tables = await tablesOf(className);
  const without = unsealed(tables, await sealsOf(className));
  expect(documented(tables, className).sort()).toEqual(without.sort());
});
