import { expect, it } from "vitest";
import type { Migration } from "../../../src/storage/schema.ts";

/**
 * A hash of the SQL of every migration, from 1.0.0-rc.1 on. Installations of a release have run its migrations: a change of
 * their SQL would reach new installations only. So a hash never changes after a release: a change of a schema is a new
 * migration with a new line here. A migration that no release has may be edited; the diff of this test then shows its new
 * hash. `node test/e2e/support/store-installation.ts VERSION` stores an installation of a release.
 */
const RELEASED: Readonly<Record<string, string>> = {
  "ACCESSOR_SHARD_MIGRATIONS 1": "9add88185fd83d005a1ff5fdaeef9e94",
  "BACKUP_RUN_MIGRATIONS 1": "64d0352cfbebc346359f59a479f6ad33",
  "CLOUD_ACCESS_LIST_MIGRATIONS 1": "622f2ccd2aad981e5c9b7e55bfaaa54b",
  "CLOUD_AUTH_MIGRATIONS 1": "37604140c6520e68e42d523907621394",
  "CUBBYHOLE_MIGRATIONS 1": "7d1a78cb24c1ef90c693bb8275f9ba48",
  "CUSTOM_ID_MIGRATIONS 1": "ab6fe5295212d6f32f64d2c65479a272",
  "ENTITY_SHARD_MIGRATIONS 1": "5605baf955c0c005f11b67eda106b691",
  "FREE_TREES_MIGRATIONS 1": "2f699520d70bc89286b0d75b60fb08ae",
  "IDENTITY_MIGRATIONS 1": "5d4d8d91c255f9eea055aafad7c5dd84",
  "ISSUER_MIGRATIONS 1": "a24443d7e84a60c8c47c8601bc0838aa",
  "JWT_AUTH_MIGRATIONS 1": "ff6d9a2bd299fbf415b424a3f1781bba",
  "LEASE_MIGRATIONS 1": "9fc6dc8a277fdbf1b45787bdb55118b4",
  "LEASE_WALK_MIGRATIONS 1": "83e9a585439068a19526d152d64de4cc",
  "LISTING_MARK_MIGRATIONS 1": "55d11cdf21c9f88d9d9faff05146655d",
  "LIST_OPENING_MIGRATIONS 1": "a727f87e2f032389e439a804d7f34c47",
  "ORGANIZATION_DIRECTORY_MIGRATIONS 1": "089cdaddf90ab2b5ff2f5281472bdbc9",
  "ORGANIZATION_MIGRATIONS 1": "c2b1c59dc5815222d57e853eea1d78ce",
  "ORIGIN_MIGRATIONS 1": "913ea74a83776b91bd3c85003fd8ca50",
  "RESTORE_MIGRATIONS 1": "0bc0954a8dac9a00997f72026a126ff2",
  "ROW_FLOOR_MIGRATIONS 1": "22c5b6b59ea94f464f84add707777480",
  "SHARD_CHECK_MIGRATIONS 1": "c8873628ed283d0dbd287e8e7e3bb7da",
  "SHARD_TIDY_MIGRATIONS 1": "46be3430067f9cd8cb14c9008b37d1c0",
  "SYSTEM_MIGRATIONS 1": "e8ec088e89ace766dead947323ecaf26",
  "TEAM_MIGRATIONS 1": "246927487000e9bbb5b6f14f6d44ec2d",
  "TIDY_MIGRATIONS 1": "9e26a821a566fff1aa612d84aa1586e5",
  "TOKEN_INDEX_MIGRATIONS 1": "ad47c8ce50139a25bac6a54943216aca",
  "TOKEN_MIGRATIONS 1": "312db2afc0f31ddbad6df805280d0bfb",
  "TOKEN_REVOCATION_MIGRATIONS 1": "f76c03daf998631b1df8c058df44576d",
  "TOKEN_ROLE_MIGRATIONS 1": "1def83a53622583060f88d0b382cfeba",
};

const modules = import.meta.glob("../../../src/**/*.ts", { eager: true });

function migrations(): [name: string, migration: Migration][] {
  return Object.values(modules)
    .flatMap((module) => Object.entries(module))
    .filter(([name]) => name.endsWith("_MIGRATIONS"))
    .flatMap(([name, list]) => (list as readonly Migration[]).map((one): [string, Migration] => [name, one]));
}

async function hashOf({ sql }: Migration): Promise<string> {
  const text = new TextEncoder().encode(sql.replace(/\s+/g, " ").trim());
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  return Array.from(hash.slice(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

it("the SQL of a released migration never changes", async () => {
  const now: Record<string, string> = {};
  for (const [name, migration] of migrations()) now[`${name} ${migration.version}`] = await hashOf(migration);
  expect(now).toEqual(RELEASED);
});
