import { renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { constants, deflateRawSync } from "node:zlib";
import { newIssuer } from "../../test/support/issuer.ts";
import { text, texts } from "../servers/client.ts";
import { newSecrets } from "../servers/serve.ts";
import { backUp } from "./backups.ts";
import { type Checks, must } from "./check.ts";
import { Subject } from "./subject.ts";

/** The table that marks the storage of a restored object, see src/storage/stored-object.ts. */
const ORIGIN =
  "CREATE TABLE IF NOT EXISTS origin (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, next_page INTEGER)";

/** Attacks by someone who writes rows that Grove itself writes without a seal. */
export const FORGED_STORAGE: Checks = {
  async "3.1 rows of one mount in the object of another"(subject) {
    const loginOfDev = await mountWithKey(subject, "dev");
    await mountWithKey(subject, "prod");
    await loginOfDev("dev", 200);
    await loginOfDev("prod", 400);
    const [dev, prod] = await Promise.all(["dev", "prod"].map((mount) => uuidOf(subject, mount)));
    await subject.whileStopped((open) => {
      const [from, to] = [open("JwtAuth", dev ?? ""), open("JwtAuth", prod ?? "")];
      for (const table of ["settings", "roles"]) moveRows(from, to, table);
      const id = basename(from.location() ?? "", ".sqlite");
      to.exec(`${ORIGIN}; INSERT OR REPLACE INTO origin (one, id, next_page) VALUES (1, '${id}', NULL)`);
    });
    await loginOfDev("prod", 400);
    await tamperingOf(subject, "origin");
    return "refused, and logged as tampering";
  },

  async "3.2b a policy planted before an initialization"(subject) {
    return withServer(async (fresh) => {
      let schema: string[] = [];
      await subject.whileStopped((open) => {
        schema = tablesOf(open("System", "system"));
      });
      await fresh.call("GET", "sys/health", { token: "" });
      await fresh.whileStopped((open) => {
        const system = open("System", "system");
        // A table of a later migration would make every start of the object fail.
        const first = schema.filter((statement) => !statement.includes("custom_id_hashes"));
        for (const statement of first) system.exec(statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"));
        system.exec("INSERT OR IGNORE INTO installation (id, cluster_id, longest_ttl) VALUES (1, 'planted', 0)");
        plantPolicy(system);
      });
      const root = text((await fresh.answers(200, "PUT", "sys/init", { token: "", body: {} })).body, "root_token");
      await mustNotAdminister(fresh, await defaultToken(fresh, root));
      return "sys/init writes all rows itself";
    });
  },

  async "3.2 a policy planted before a restore begins"() {
    return withServer(async (fresh) => {
      const root = text((await fresh.answers(200, "PUT", "sys/init", { token: "", body: {} })).body, "root_token");
      const old = await defaultToken(fresh, root);
      const { head } = await backUp(fresh, root);
      let bringBack = (): void => {};
      await fresh.whileStopped((open) => {
        const system = open("System", "system");
        bringBack = hideTokens(system);
        plantPolicy(system);
        for (const table of sealedTablesOf(system)) system.exec(`UPDATE ${table} SET seal = NULL`);
        system.exec("UPDATE installation SET sealed_key_ring = NULL");
      });
      await fresh.answers(204, "POST", "sys/restore/begin", { token: "", body: head });
      await fresh.whileStopped((open) => {
        open("System", "system").exec("UPDATE restores SET finished_at = 1");
        bringBack();
      });
      await mustNotAdminister(fresh, old);
      await fresh.answers(200, "GET", "auth/token/lookup-self", { token: old });
      return "a restore writes all rows itself";
    });
  },

  async "3.2b a server whose keys were deleted"() {
    return withServer(async (fresh) => {
      await fresh.answers(200, "PUT", "sys/init", { token: "", body: {} });
      await fresh.whileStopped((open) => {
        const system = open("System", "system");
        hideTokens(system);
        system.exec("UPDATE installation SET sealed_key_ring = NULL");
      });
      await fresh.answers(400, "PUT", "sys/init", { token: "", body: {} });
      await tamperingOf(fresh, "installation");
      return "400: it is not initialized again, and logged as tampering";
    });
  },

  async "3.9 a part of a backup that expands to gigabytes"() {
    const secrets = newSecrets();
    const { head, part } = await withServer(async (fresh) => {
      const { body } = await fresh.answers(200, "PUT", "sys/init", { token: "", body: {} });
      return backUp(fresh, text(body, "root_token"));
    }, secrets);
    return withServer(async (fresh) => {
      await fresh.answers(204, "POST", "sys/restore/begin", { token: "", body: head });
      const before = fresh.usage.residentBytes;
      let most = before;
      const watch = setInterval(() => {
        most = Math.max(most, fresh.usage.residentBytes);
      }, 10);
      try {
        for (const forged of [{ seal: "AAAA" }, {}]) {
          const body = { ...part, ...forged, content: bomb().toString("base64") };
          const sent = fresh.answers(400, "POST", "sys/restore/part", { token: "", body, timeoutMs: 60_000 });
          await fresh.call("GET", "sys/health", { token: "", timeoutMs: 3_000 });
          await sent;
        }
      } finally {
        clearInterval(watch);
      }
      const grown = Math.round((most - before) / 2 ** 20);
      must(grown < 400, `the server took ${grown} MiB`);
      return "400, and no more memory than a part takes";
    }, secrets);
  },

  async "a version raised once in the directory of entities"(subject) {
    const entity = text(
      (await subject.call("POST", "identity/entity", { body: { name: "raised" } })).body,
      "data",
      "id",
    );
    const body = { name: "raised", policies: "default", member_entity_ids: [] };
    const group = text((await subject.call("POST", "identity/group", { body })).body, "data", "id");
    const members = (ids: readonly string[]) =>
      subject.call("POST", `identity/group/id/${group}`, { body: { member_entity_ids: ids } });
    for (const table of ["state", "directory_version"]) {
      await subject.rewrite("Identity", table, `UPDATE ${table} SET version = ${Number.MAX_SAFE_INTEGER}`);
    }
    await members([entity]);
    await members([]);
    const { body: read } = await subject.call("GET", `identity/entity/id/${entity}`);
    must(texts(read, "data", "group_ids").length === 0, "the entity is still in the group");
    return "later changes reach the entity";
  },
};

/** Runs `work` with a server that was never initialized, with the given secrets or new ones. */
async function withServer<T>(work: (fresh: Subject) => Promise<T>, secrets = newSecrets()): Promise<T> {
  const fresh = await Subject.start({ ...secrets, GROVE_DEV_ROOT_TOKEN: "" });
  try {
    return await work(fresh);
  } finally {
    await fresh.stop();
  }
}

/**
 * Mounts a method with its own key. Returns a function that logs in with that key at any mount, and expects a status.
 */
async function mountWithKey(subject: Subject, mount: string) {
  const issuer = await newIssuer("RS256");
  await subject.call("POST", `sys/auth/${mount}`, { body: { type: "jwt" } });
  await subject.call("POST", `auth/${mount}/config`, { body: { jwt_validation_pubkeys: issuer.pem } });
  const role = { role_type: "jwt", user_claim: "sub", bound_audiences: "grove", token_policies: "default" };
  await subject.call("POST", `auth/${mount}/role/r`, { body: role });
  return async (at: string, status: number): Promise<void> => {
    const body = { role: "r", jwt: await issuer.sign({ sub: "ci" }) };
    await subject.answers(status, "POST", `auth/${at}/login`, { token: "", body });
  };
}

async function uuidOf(subject: Subject, mount: string): Promise<string> {
  return text((await subject.call("GET", `sys/auth/${mount}`)).body, "data", "uuid");
}

function moveRows(from: DatabaseSync, to: DatabaseSync, table: string): void {
  to.exec(`DELETE FROM ${table}`);
  const insert = to.prepare(`INSERT INTO ${table} (name, value, seal) VALUES (?, ?, ?)`);
  for (const { name = null, value = null, seal = null } of from.prepare(`SELECT * FROM ${table}`).all()) {
    insert.run(name, value, seal);
  }
}

/** The statements that created the tables of a database. Tables of the runtime begin with an underscore. */
function tablesOf(database: DatabaseSync): string[] {
  const query =
    "SELECT sql FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 1) <> '_' AND name NOT LIKE 'sqlite%'";
  return database
    .prepare(query)
    .all()
    .map(({ sql }) => String(sql));
}

/** The tables of a database whose rows have seals. */
function sealedTablesOf(database: DatabaseSync): string[] {
  const query =
    "SELECT t.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' AND c.name = 'seal'";
  return database
    .prepare(query)
    .all()
    .map(({ name }) => String(name));
}

/** Plants an unsealed policy "default" with rights of an administrator, which its text does not show. */
function plantPolicy(system: DatabaseSync): void {
  const rules = [{ path: "sys/auth", segments: ["sys", "auth"], isPrefix: false, capabilities: ["read", "sudo"] }];
  system
    .prepare(
      `INSERT OR REPLACE INTO policies
         (name, text, rules, version, modified_at, cas_required, allow_slashes, allow_wildcards)
       VALUES ('default', 'path "sys/auth" { capabilities = ["read", "sudo"] }', ?, 1, 1, 0, 0, 0)`,
    )
    .run(JSON.stringify(rules));
}

/**
 * Moves the databases of tokens out of the data directory, because a server that finds tokens but no keys refuses every
 * initialization and restore before it reads a row. Returns a function that moves them back.
 */
function hideTokens(system: DatabaseSync): () => void {
  const from = dirname(system.location() ?? "").replace("System-", "TokenTree-");
  const to = join(dirname(from), "hidden");
  renameSync(from, to);
  return () => {
    rmSync(from, { recursive: true, force: true });
    renameSync(to, from);
  };
}

async function defaultToken(subject: Subject, root: string): Promise<string> {
  const body = { policies: ["default"], no_parent: true };
  return text(
    (await subject.answers(200, "POST", "auth/token/create", { token: root, body })).body,
    "auth",
    "client_token",
  );
}

async function mustNotAdminister(subject: Subject, token: string): Promise<void> {
  await subject.answers(403, "GET", "sys/auth", { token });
}

const tamperingOf = (subject: Subject, kind: string) =>
  subject.until(`the log line about the ${kind}`, () =>
    subject.lines().some((line) => line.type === "tampering" && line.kind === kind),
  );

/** About 2 MB of gzip that expand to 2 GB of zeros: one block, repeated. The checksum at the end is wrong. */
function bomb(): Buffer {
  const zeros = deflateRawSync(Buffer.alloc(2 ** 26), { level: 9, finishFlush: constants.Z_FULL_FLUSH });
  const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
  return Buffer.concat([head, ...Array<Buffer>(30).fill(zeros), Buffer.from([3, 0]), Buffer.alloc(8)]);
}
