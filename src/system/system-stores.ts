import { currentTime } from "../base/clock.ts";
import { builtinRules, DEFAULT_POLICY_TEXT } from "../policy/builtin.ts";
import { DEFAULT_POLICY } from "../policy/policy-names.ts";
import { emptyTables } from "../storage/object-pages.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { type Migration, Tables } from "../storage/tables.ts";
import { AuditBacklogStore } from "./audit-backlogs.ts";
import { AuditNumberStore } from "./audit-numbers.ts";
import { changeDelayMs } from "./copy-age.ts";
import { CUSTOM_ID_LIST_SQL, CustomIdStore } from "./custom-id-list.ts";
import type { SystemEnv } from "./env.ts";
import { ListOpeningStore } from "./generation-openings.ts";
import { InstallationStore, RestoreStore, RootGenerationStore } from "./installation-store.ts";
import { DEFAULT_MOUNT_CONFIG, newMount } from "./mount.ts";
import { MountStore } from "./mount-store.ts";
import { changedParts, NO_VERSIONS, type PartName, PartVersionStore, type PartVersions } from "./part-versions.ts";
import { PolicyStore } from "./policies.ts";
import { PolicyVersionStore } from "./policy-versions.ts";
import { QuotaStore } from "./quota-store.ts";
import { RotationStore } from "./rotation-store.ts";
import { SetupStore } from "./setup-store.ts";
import { WatermarkStore } from "./watermarks.ts";

const TABLES = `
  CREATE TABLE installation (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    cluster_id TEXT NOT NULL,
    sealed_key_ring TEXT,
    longest_ttl INTEGER NOT NULL
  );
  CREATE TABLE part_versions (part TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE policies (
    name TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    rules TEXT NOT NULL,
    version INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    expires_at INTEGER,
    cas_required INTEGER NOT NULL,
    allow_slashes INTEGER NOT NULL,
    allow_wildcards INTEGER NOT NULL,
    seal BLOB
  ) WITHOUT ROWID;
  CREATE TABLE mounts (path TEXT PRIMARY KEY, mount TEXT NOT NULL, seal BLOB) WITHOUT ROWID;
  CREATE TABLE custom_id_layers (layer INTEGER PRIMARY KEY, ids INTEGER NOT NULL);
  CREATE TABLE custom_id_blocks (layer INTEGER NOT NULL, block INTEGER NOT NULL, bits BLOB NOT NULL, PRIMARY KEY (layer, block));
  CREATE TABLE key_rotation (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    enabled INTEGER NOT NULL,
    max_operations INTEGER NOT NULL,
    interval INTEGER NOT NULL,
    seal BLOB
  );
  CREATE TABLE key_usage (term INTEGER PRIMARY KEY, encryptions INTEGER NOT NULL);
  CREATE TABLE root_generation (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    nonce TEXT NOT NULL,
    otp BLOB NOT NULL,
    started_at INTEGER NOT NULL,
    tries INTEGER NOT NULL
  );
  CREATE TABLE rate_limit_quotas (name TEXT PRIMARY KEY, quota TEXT NOT NULL, seal BLOB) WITHOUT ROWID;
  CREATE TABLE quota_config (id INTEGER PRIMARY KEY CHECK (id = 1), config TEXT NOT NULL, seal BLOB);
  CREATE TABLE watermarks (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    created_before INTEGER,
    made_at INTEGER NOT NULL,
    cleaned_at INTEGER,
    asked TEXT NOT NULL,
    seal BLOB
  );
`;

export const SYSTEM_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the installation with its policies, mounts, quotas, watermarks, custom ids and rotation of keys",
    sql: TABLES,
  },
  { version: 2, description: "the list of custom ids", sql: CUSTOM_ID_LIST_SQL, readableFrom: 1 },
];

export type SystemStores = ReturnType<typeof systemStores>;

/** Opens the stores of the database `storage`. `seals` makes and checks the seals of their rows. */
export function systemStores(storage: SqlStorage, seals: RowSeals, env: SystemEnv) {
  const schema = new Tables(storage, SYSTEM_MIGRATIONS);
  const tables = { schema, storage, seals, versions: new PartVersionStore(schema) };
  const installation = new InstallationStore(tables);
  const quotas = new QuotaStore(tables);
  const watermarks: WatermarkStore = new WatermarkStore(tables, () => mounts.longestTtl() * 1000 + changeDelayMs(env));
  const mounts: MountStore = new MountStore(tables, installation, quotas, watermarks);
  const stores = {
    ...tables,
    installation,
    policies: new PolicyStore(tables, () => policyVersions),
    mounts,
    customIds: new CustomIdStore(tables),
    rotation: new RotationStore(tables),
    rootGeneration: new RootGenerationStore(tables),
    quotas,
    watermarks,
    listOpenings: new ListOpeningStore(tables),
    restore: new RestoreStore(tables),
    setup: new SetupStore(tables),
  };
  // The last of the tables with seals: a check that is under way goes on by the number of the table (`SealPosition`).
  const policyVersions: PolicyVersionStore = new PolicyVersionStore(tables);
  const auditNumbers: AuditNumberStore = new AuditNumberStore(tables);
  const auditBacklogs: AuditBacklogStore = new AuditBacklogStore(tables);
  return { ...stores, auditNumbers, auditBacklogs };
}

/** The list of custom ids. The first root token may have one, and the list decides about nothing. */
const KEPT_TABLES = ["custom_id_hashes", "custom_id_layers", "custom_id_blocks"];

/**
 * Writes the rows of a new installation: its cluster id and key ring, the policy "default" and the token mount. All
 * stored rows are deleted first, so that only the rows of this function are in it. Called in a transaction, with
 * the tables made and the keys open.
 */
export function writeNewInstallation(
  { storage, installation, policies, mounts }: SystemStores,
  sealedKeyRing: string,
): void {
  emptyTables(storage, KEPT_TABLES);
  installation.create(sealedKeyRing);
  const content = { text: DEFAULT_POLICY_TEXT, rulesJson: JSON.stringify(builtinRules(DEFAULT_POLICY_TEXT)) };
  policies.write(
    DEFAULT_POLICY,
    { content, expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false, cas: null },
    currentTime(),
    null,
  );
  const description = "token based credentials";
  mounts.put(newMount({ path: "token/", type: "token", description, config: DEFAULT_MOUNT_CONFIG }));
}

/** An update of an isolate's copy: the parts whose version differs from that of the copy. */
export interface SystemSnapshot {
  readonly versions: PartVersions;
  readonly parts: ReturnType<typeof readParts>;
}

/**
 * Reads the parts of the installation that changed since the versions `known` of an isolate's copy; null when none did.
 *
 * @param opened false when the seals of rows can't be checked. Then only the wrapped keys are returned: an isolate with
 *   the same settings can't open them either, and reports why.
 */
export function readSnapshot(stores: SystemStores, known: PartVersions | null, opened: boolean): SystemSnapshot | null {
  const versions = stores.versions.now;
  if (!opened) {
    return {
      versions: { ...versions, ...known, keys: versions.keys },
      parts: readParts(stores, new Set(["keys"])),
    };
  }
  const changed = changedParts(known, versions);
  return changed.size === 0 ? null : { versions, parts: readParts(stores, changed) };
}

/** What an isolate gets before the installation has keys. */
export const NOT_INITIALIZED: SystemSnapshot = {
  versions: NO_VERSIONS,
  parts: { keys: { clusterId: "", sealedKeyRing: null, restoring: null, setup: null } },
};

function readParts(stores: SystemStores, changed: ReadonlySet<PartName>) {
  const { installation, restore, setup, policies, mounts, customIds, quotas, watermarks, listOpenings } = stores;
  return {
    ...(changed.has("keys") && { keys: { ...installation.keys(), restoring: restore.running, setup: setup.nonce } }),
    ...(changed.has("policies") && { policies: policies.rules() }),
    ...(changed.has("mounts") && { mounts: mounts.all() }),
    ...(changed.has("customIds") && { customIds: customIds.part() }),
    ...(changed.has("quotas") && { quotas: { list: quotas.all(), config: quotas.config() } }),
    ...(changed.has("watermarks") && { watermarks: watermarks.snapshot() }),
    ...(changed.has("lists") && { lists: { openings: listOpenings.all() } }),
  };
}
