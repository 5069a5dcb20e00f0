import { runInDurableObject } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import { Tables } from "../../../src/storage/tables.ts";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { RESTORE_MIGRATIONS } from "../../../src/system/installation-store.ts";
import { SETUP_MIGRATIONS } from "../../../src/system/setup-store.ts";
import { type System, systemOf } from "../../../src/system/system.ts";
import { SYSTEM_MIGRATIONS } from "../../../src/system/system-stores.ts";
import { type Backup, backUp, begin, loseEverything } from "../../support/backups.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, createToken, initialized, keysOf } from "../../support/service.ts";
import { tamperingLines, writeStorage } from "../../support/storage-writer.ts";

// Somebody who can write the storage plants rows in a deployment without keys, and has it initialized or restored.

beforeEach(loseEverything);

const system = () => systemOf(bindings);
const status = async (path: string, token: string) => (await call("GET", path, { token })).status;
const RULE = '[{"path":"sys/auth","segments":["sys","auth"],"isPrefix":false,"capabilities":["read","sudo"]}]';

/** A policy without a seal. */
const planted = (name: string, text: string, rules: string) =>
  `INSERT OR REPLACE INTO policies (name, text, rules, version, modified_at, cas_required, allow_slashes, allow_wildcards)
   VALUES ('${name}', '${text}', '${rules}', 1, 1, 0, 0, 0)`;
const GIVING = 'path "sys/auth" { capabilities = ["read", "sudo"] }';

/** Takes the keys of an installation away, and every seal of its System object. */
const QUOTAS = ["rate_limit_quotas", "quota_config"];
const TABLES = ["policies", "mounts", "watermarks", ...QUOTAS, "key_rotation", "audit_numbers"];
const WITHOUT_SEALS = TABLES.map((table) => `UPDATE ${table} SET seal = NULL`);
const WITHOUT_KEYS = "UPDATE installation SET sealed_key_ring = NULL";

it("sys/init seals no row that was there before", async () => {
  await runInDurableObject(system(), (_: System, { storage }) => new Tables(storage.sql, SYSTEM_MIGRATIONS).create());
  await writeStorage(
    system(),
    "INSERT INTO installation (id, cluster_id, longest_ttl) VALUES (1, 'planted', 0)",
    planted("default", "# see default", RULE),
    planted("planted", GIVING, RULE),
    ...RESTORE_MIGRATIONS.map(({ sql }) => sql),
    "INSERT INTO restores (one, run) VALUES (1, 'planted')",
    ...SETUP_MIGRATIONS.map(({ sql }) => sql),
    "INSERT INTO setups (one, nonce) VALUES (1, 'planted')",
  );
  const root = await initialized();
  expect(keysOf(await call("GET", "sys/policies/acl?list=true", { token: root }))).toEqual(["default", "root"]);
  const { client_token: token } = await createToken(root, { policies: ["default", "planted"] });
  expect(await status("sys/auth", token)).toBe(403);
  expect((await call("GET", "sys/policies/acl/default", { token: root })).body.data.policy).toContain("lookup-self");
  expect((await call("GET", "sys/health")).body.cluster_id).not.toBe("planted");
});

/** An installation with an old token, of which there is a backup. */
async function backedUp(): Promise<{ readonly backup: Backup; readonly root: string; readonly old: string }> {
  const root = await initialized();
  const { client_token: old } = await createToken(root, { policies: ["default"], no_parent: true });
  return { backup: await backUp(root), root, old };
}

it("a restore that is begun with the old keys seals no row that was there before", async () => {
  const { backup, old } = await backedUp();
  await writeStorage(system(), planted("default", GIVING, RULE), ...WITHOUT_SEALS, WITHOUT_KEYS);
  expect((await begin(backup)).status).toBe(204);
  await writeStorage(system(), "UPDATE restores SET finished_at = 1");
  expect([await status("auth/token/lookup-self", old), await status("sys/auth", old)]).toEqual([200, 403]);
});

it("sys/init and a restore are refused where rows have seals and the keys are gone", async () => {
  const { backup, root } = await backedUp();
  const [{ sealed_key_ring: ring }] = (await rowsOf(system(), "installation")) as [Record<string, string>];
  await writeStorage(system(), WITHOUT_KEYS);
  const lines = tamperingLines();
  expect([(await call("PUT", "sys/init")).status, (await begin(backup)).status]).toEqual([400, 400]);
  const object = system().id.toString();
  expect(lines()).toEqual([{ type: "tampering", kind: "installation", object, row: 1 }]);
  await writeStorage(system(), `UPDATE installation SET sealed_key_ring = '${ring}'`);
  expect(await status("sys/auth", root)).toBe(200);
});

it.each(["sys/init", "sys/restore/begin"])("%s is refused where only the System object is lost", async (path) => {
  const { backup, root } = await backedUp();
  await call("POST", "auth/token/roles/ci", { token: root, body: { allowed_policies: "default" } });
  await runInDurableObject(system(), async (_: System, { storage }) => storage.deleteAll());
  await writeStorage(system());
  forgetInstallation();
  const answer = path === "sys/init" ? await call("PUT", path) : await begin(backup);
  expect([answer.status, answer.body.errors]).toEqual([400, [expect.stringContaining("an earlier installation")]]);
  expect((await call("GET", "sys/init")).body.initialized).toBe(false);
});

it("the rules of a policy are those of its text, whatever is stored beside it", async () => {
  const root = await initialized();
  const settings = { expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false, cas: null };
  const content = { text: "# nothing", rulesJson: RULE };
  await system().writePolicy("shown", { content, ...settings }, Date.now());
  forgetInstallation();
  const { client_token: token } = await createToken(root, { policies: ["default", "shown"] });
  expect([await status("sys/auth", token), await status("auth/token/lookup-self", token)]).toEqual([403, 200]);
});
