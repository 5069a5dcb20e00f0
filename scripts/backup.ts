import { setTimeout as sleep } from "node:timers/promises";
import { type BackupCommand, HELP, parseBackupArguments } from "./backup/arguments.ts";
import { makeBackup as copyData } from "./backup/run.ts";
import { type CallFailure, GroveClient } from "./grove/client.ts";
import { runCommand } from "./local/command-line.ts";
import { fetchBackup, makeInBucket } from "./saved/bucket.ts";
import { makeBackup, verifyBackup } from "./saved/make.ts";
import { sumOf } from "./saved/manifest.ts";
import { newestBackup } from "./saved/newest.ts";
import { BackupStore } from "./saved/store.ts";

const say = (line: string): void => console.error(`backup: ${line}`);

function backUp(command: BackupCommand): Promise<number> {
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

async function copyFiles(command: Extract<BackupCommand, { kind: "copy" }>): Promise<number> {
  const made = await copyData(command);
  if (!made.ok) {
    say(made.error);
    return 1;
  }
  const { directory, at, databases, pausedMs, deleted } = made.value;
  if (command.json) console.log(JSON.stringify(made.value));
  else {
    console.log(`${directory}: ${databases} databases, opened and whole, as of ${at}`);
    console.log(pausedMs === 0 ? "the server was not running" : `the server was paused for ${pausedMs} ms`);
    for (const name of deleted) console.log(`deleted ${name}`);
  }
  return 0;
}

/** Calls of backups can all be repeated. */
const clientOf = (address: string) => new GroveClient(address, process.env.VAULT_TOKEN ?? "", { repeats: true });

const progressFor =
  (json: boolean) =>
  (parts: number): void =>
    void (process.stderr.isTTY && !json && process.stderr.write(`\r${parts} parts`));

function sayRefusal({ message, status }: CallFailure): number {
  const isOfPolicies = status === 403 && !message.includes("GROVE_INIT_TOKEN");
  say(`${message}${isOfPolicies ? " (VAULT_TOKEN needs read, update and sudo on sys/backup/*)" : ""}`);
  return 1;
}

async function askBucket({ address, json }: Extract<BackupCommand, { kind: "bucket" }>): Promise<number> {
  const made = await makeInBucket(clientOf(address), progressFor(json), sleep);
  if (!made.ok) return sayRefusal(made.error);
  const { name, objects, rows, parts, bytes } = made.value;
  const text = `${name}: ${objects} objects, ${rows} rows in ${parts} parts of ${bytes} bytes, in the bucket of the server`;
  console.log(json ? JSON.stringify(made.value) : text);
  return 0;
}

async function fetchFromBucket(command: Extract<BackupCommand, { kind: "fetch" }>): Promise<number> {
  const { address, directory, name, json } = command;
  const store = new BackupStore(directory);
  const fetched = await fetchBackup(clientOf(address), store, name, progressFor(json));
  if (!fetched.ok) return sayRefusal(fetched.error);
  const verified = verifyBackup(store, fetched.value.name);
  if (!verified.ok) {
    say(verified.error);
    return 1;
  }
  const { parts, known } = fetched.value;
  const text = `${fetched.value.name}: ${parts} parts, whole, of which ${known} were here; grove restore --from ${directory} takes it`;
  console.log(json ? JSON.stringify(fetched.value) : text);
  return 0;
}

async function askServer({ address, to, keep, json }: Extract<BackupCommand, { kind: "ask" }>): Promise<number> {
  const store = new BackupStore(to);
  const made = await makeBackup(clientOf(address), store, keep, progressFor(json), Date.now);
  if (!made.ok) return sayRefusal(made.error);
  const { name, at, parts, objects, rows, unchanged, continued, deleted } = made.value;
  const verified = verifyBackup(store, name);
  if (!verified.ok) {
    say(verified.error);
    return 1;
  }
  if (json) console.log(JSON.stringify(made.value));
  else {
    console.log(`${name}: ${objects} objects, ${rows} rows in ${parts} parts, read again and whole`);
    console.log(`all that was answered before ${at} is in it; ${unchanged} parts are those of the backup before`);
    if (continued > 0) console.log(`${continued} parts are of a call that had ended before its end`);
    for (const old of deleted) console.log(`deleted ${old}`);
  }
  return 0;
}

async function verify({ directory, json }: Extract<BackupCommand, { kind: "verify" }>): Promise<number> {
  const newest = newestBackup(directory);
  if (!newest) {
    say(`there is no backup in ${directory}`);
    return 1;
  }
  const { name, problem, copy, manifest } = newest;
  if (manifest) {
    const { parts, started_at: at, release, seal_key_version: version, files } = manifest;
    const found = { name, at, release, parts, ...sumOf(files), seal_key_version: version };
    const text = `${name}: ${found.objects} objects, ${found.rows} rows in ${parts} parts, whole; of ${at}, release ${release}`;
    console.log(json ? JSON.stringify(found) : `${text}, seal key version ${version}`);
    return 0;
  }
  if (copy) {
    const { at, version: release, databases } = copy;
    const text = `${name}: ${databases} databases, opened and whole; of ${at}, release ${release}`;
    console.log(json ? JSON.stringify({ name, at, release, databases }) : text);
    return 0;
  }
  say(`${name}: ${problem}`);
  return 1;
}

// The copy is for this user only.
process.umask(0o077);
process.exitCode = await runCommand(parseBackupArguments(process.argv.slice(2)), HELP, say, backUp);
