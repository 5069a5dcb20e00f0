import { setTimeout as sleep } from "node:timers/promises";
import { err, ok, type Result } from "../src/base/result.ts";
import { fetchBackup, makeInBucket } from "./backup/api/bucket.ts";
import { makeBackup } from "./backup/api/make.ts";
import { sumOf } from "./backup/api/manifest.ts";
import { BackupStore } from "./backup/api/store.ts";
import { verifyBackup } from "./backup/api/verify.ts";
import { type BackupCommand, HELP, parseBackupArguments } from "./backup/arguments.ts";
import { makeBackup as copyData } from "./backup/files/make.ts";
import { NO_DIGESTS } from "./backup/files/verify.ts";
import { backupAt, newestBackup } from "./backup/newest.ts";
import { judgeSealKeys, sealKeysOf } from "./backup/seal-keys.ts";
import { type CallFailure, GroveClient } from "./grove/client.ts";
import { number } from "./grove/commands/token-lines.ts";
import { clientVariables } from "./local/client-environment.ts";
import { asCalled, runCommand } from "./local/command-line.ts";
import { trustAuthorityIn } from "./local/server-authority.ts";
import { tokenIn } from "./local/token-from-environment.ts";

/** `12 objects, 340 rows in 2 parts`. */
const contentText = (objects: number, rows: number, parts: number): string =>
  `${number(objects, "object")}, ${number(rows, "row")} in ${number(parts, "part")}`;

const say = (line: string): void => console.error(`backup: ${line}`);

/** The variable with the token. */
const { token: TOKEN } = clientVariables(process.env);

const NO_KEY = "; GROVE_SEAL_KEY is not set, so no key was tried";

/** The result as JSON, and as lines for the operator. */
interface Done {
  readonly json: unknown;
  readonly lines: readonly string[];
  /** Why a whole backup can't be restored with the seal keys of the environment; absent: nothing says that. */
  readonly unopened?: string;
}

async function backUp(command: BackupCommand): Promise<number> {
  const token = tokenIn(process.env, TOKEN);
  const trusted = trustAuthorityIn(process.env);
  for (const read of "address" in command ? [token, trusted] : []) {
    if (read.ok) continue;
    say(read.error);
    return 2;
  }
  const done = await carryOut(command);
  if (!done.ok) {
    say(done.error);
    return 1;
  }
  for (const line of command.json ? [JSON.stringify(done.value.json)] : done.value.lines) console.log(line);
  if (done.value.unopened === undefined) return 0;
  // A script that restores goes on after 0, and the server would be sealed.
  say(done.value.unopened);
  return 1;
}

/** The error is for the operator. */
function carryOut(command: BackupCommand): Promise<Result<Done, string>> {
  switch (command.kind) {
    case "copy":
      return copyFiles(command);
    case "ask":
      return askServer(command);
    case "bucket":
      return askBucket(command);
    case "fetch":
      return fetchFromBucket(command);
    case "verify":
      return verify(command);
  }
}

async function copyFiles(command: Extract<BackupCommand, { kind: "copy" }>): Promise<Result<Done, string>> {
  const made = await copyData(command);
  if (!made.ok) return made;
  const { directory, at, databases, pausedMs, deleted } = made.value;
  const lines = [
    `${directory}: ${number(databases, "database")}, opened and whole, as of ${at}`,
    pausedMs === 0 ? "the server was not running" : `the server was paused for ${pausedMs} ms`,
    ...deleted.map((name) => `deleted ${name}`),
  ];
  return ok({ json: made.value, lines });
}

/** Every call of a backup is safe to repeat. */
const clientOf = (address: string) => new GroveClient(address, process.env[TOKEN]?.trim() ?? "", { repeats: true });

const progressFor =
  (json: boolean) =>
  (parts: number): void =>
    void (process.stderr.isTTY && !json && process.stderr.write(`\r${number(parts, "part")}`));

function refused({ message, status }: CallFailure): Result<never, string> {
  const isOfPolicies = status === 403 && !message.includes("GROVE_INIT_TOKEN");
  return err(`${message}${isOfPolicies ? ` (${TOKEN} needs read, update and sudo on sys/backup/*)` : ""}`);
}

async function askBucket(command: Extract<BackupCommand, { kind: "bucket" }>): Promise<Result<Done, string>> {
  const made = await makeInBucket(clientOf(command.address), progressFor(command.json), sleep);
  if (!made.ok) return refused(made.error);
  const { name, objects, rows, parts, bytes } = made.value;
  const what = `${contentText(objects, rows, parts)} of ${bytes} bytes`;
  return ok({ json: made.value, lines: [`${name}: ${what}, in the bucket of the server`] });
}

async function fetchFromBucket(command: Extract<BackupCommand, { kind: "fetch" }>): Promise<Result<Done, string>> {
  const { address, directory, name: wanted, json } = command;
  const store = new BackupStore(directory);
  const fetched = await fetchBackup(clientOf(address), store, wanted, progressFor(json));
  if (!fetched.ok) return refused(fetched.error);
  const { name, parts, known } = fetched.value;
  const verified = verifyBackup(store, name);
  if (!verified.ok) return verified;
  const what = `${number(parts, "part")}, whole, of which ${known} were here`;
  return ok({ json: fetched.value, lines: [`${name}: ${what}; ${asCalled(`restore --from ${directory}`)} takes it`] });
}

async function askServer(command: Extract<BackupCommand, { kind: "ask" }>): Promise<Result<Done, string>> {
  const { address, to, keep, json } = command;
  const store = new BackupStore(to);
  const made = await makeBackup(clientOf(address), store, keep, progressFor(json), Date.now);
  if (!made.ok) return refused(made.error);
  const { name, at, parts, objects, rows, unchanged, continued, deleted } = made.value;
  const verified = verifyBackup(store, name);
  if (!verified.ok) return verified;
  const lines = [
    `${name}: ${contentText(objects, rows, parts)}, read again and whole`,
    `it has every change that was acknowledged before ${at}; ${number(unchanged, "part")} unchanged since the previous backup`,
    ...(continued > 0 ? [`${number(continued, "part")} taken over from an interrupted run`] : []),
    ...deleted.map((old) => `deleted ${old}`),
  ];
  return ok({ json: made.value, lines });
}

async function verify({ directory }: Extract<BackupCommand, { kind: "verify" }>): Promise<Result<Done, string>> {
  const newest = backupAt(directory) ?? newestBackup(directory);
  if (!newest) return err(`there is no backup in ${directory}`);
  const { name, problem, sealKeyVersion, copy, manifest } = newest;
  const keys = sealKeysOf(process.env);
  if (!keys.ok) return keys;
  const opened = await judgeSealKeys(newest, keys.value);
  const warnings: string[] = [];
  const unopened =
    opened.kind === "missing"
      ? `it ${opened.why}. A server with the configured key would be sealed on it: find that key, or make a backup now`
      : undefined;
  const openedBy = opened.kind === "opens" ? opened.setting : null;
  const opening = openedBy !== null ? `; ${openedBy} opens it` : keys.value.length === 0 ? NO_KEY : "";
  if (manifest) {
    const { parts, started_at: at, release, seal_key_version, files } = manifest;
    const { objects, rows } = sumOf(files);
    const what = `${contentText(objects, rows, parts)}, whole; of ${at}, release ${release}`;
    const lines = [`${name}: ${what}, seal key version ${seal_key_version}${opening}`];
    const json = { name, at, release, parts, objects, rows, seal_key_version, opened_by: openedBy, unopened, warnings };
    return ok({ json, lines, ...(unopened !== undefined && { unopened }) });
  }
  if (!copy) return err(`${name}: ${problem}`);
  const { at, version: release, databases, files } = copy;
  const key = sealKeyVersion === null ? "" : `, seal key version ${sealKeyVersion}`;
  const compared = files ? Object.keys(files).length : null;
  const how = compared === null ? "opened" : `opened; ${number(compared, "file")}, each as its SHA-256 says`;
  if (compared === null) warnings.push(`warning: ${NO_DIGESTS}: make a backup now`);
  const lines = [
    `${name}: ${number(databases, "database")}, ${how}; of ${at}, release ${release}${key}${opening}`,
    ...warnings,
  ];
  const json = {
    name,
    at,
    release,
    databases,
    files: compared,
    seal_key_version: sealKeyVersion,
    opened_by: openedBy,
    unopened,
    warnings,
  };
  return ok({ json, lines, ...(unopened !== undefined && { unopened }) });
}

// The copy is for this user only.
process.umask(0o077);
process.exitCode = await runCommand(parseBackupArguments(process.argv.slice(2)), HELP, say, backUp);
