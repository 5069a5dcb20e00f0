import { QUOTA_TABLES } from "../quota/quota-store.ts";
import type { Migration } from "../storage/schema.ts";
import { CUSTOM_ID_TABLES } from "./custom-id-store.ts";
import { PART_VERSION_TABLE } from "./part-versions.ts";
import { POLICY_TABLES } from "./policy-store.ts";
import { ROOT_GENERATION_TABLE } from "./root-generation-store.ts";
import { ROTATION_TABLES } from "./rotation-store.ts";
import { WATERMARK_TABLES } from "./watermark-store.ts";

export const SYSTEM_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the installation, its policies and its mounts",
    sql: `
      CREATE TABLE installation (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        version INTEGER NOT NULL,
        cluster_id TEXT NOT NULL,
        sealed_key_ring TEXT,
        custom_id_filter BLOB NOT NULL
      );
      ${POLICY_TABLES}
      CREATE TABLE mounts (path TEXT PRIMARY KEY, mount TEXT NOT NULL) WITHOUT ROWID;
    `,
  },
  { version: 2, description: "when keys are rotated, and how much each was used", sql: ROTATION_TABLES },
  {
    version: 3,
    description: "seals of policies and mounts; those that are there are sealed when they are read",
    sql: "ALTER TABLE policies ADD COLUMN seal BLOB; ALTER TABLE mounts ADD COLUMN seal BLOB;",
  },
  { version: 4, description: "the attempt to generate a root token", sql: ROOT_GENERATION_TABLE },
  { version: 5, description: "rate limit quotas", sql: QUOTA_TABLES },
  { version: 6, description: "watermarks, and the longest life that a mount ever gave", sql: WATERMARK_TABLES },
  { version: 7, description: "a version for each part of the snapshot", sql: PART_VERSION_TABLE },
  {
    version: 8,
    description: "seals of watermarks and quotas; those that are there are sealed when they are read",
    sql: ["watermarks", "rate_limit_quotas", "quota_config"]
      .map((table) => `ALTER TABLE ${table} ADD COLUMN seal BLOB;`)
      .join("\n"),
  },
  { version: 9, description: "the filter of custom ids in layers that grow", sql: CUSTOM_ID_TABLES },
];
