import { type BackupCommand, HELP, parseBackupArguments } from "./backup/arguments.ts";
import { makeBackup as copyData } from "./backup/run.ts";
import { GroveClient } from "./grove/client.ts";
import { runCommand } from "./local/command-line.ts";
import { makeBackup, verifyBackup } from "./saved/make.ts";
import { sumOf } from "./saved/manifest.ts";
import { BackupStore } from "./saved/store.ts";

const say = (line: string): void => console.error(`backup: ${line}`);

function backUp(command: BackupCommand): Promise<number> {
  switch (command.kind) {
    case "copy":
      return copyFiles(command);
    case "ask":
      return askServer(command);
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

async function askServer({ address, to, keep, json }: Extract<BackupCommand, { kind: "ask" }>): Promise<number> {
  const client = new GroveClient(address, process.env.VAULT_TOKEN ?? "");
  const store = new BackupStore(to);
  const shows = process.stderr.isTTY && !json;
  const progress = (parts: number): void => void (shows && process.stderr.write(`\r${parts} parts`));
  const made = await makeBackup(client, store, keep, progress, Date.now);
  if (!made.ok) {
    say(
      `${made.error.message}${made.error.status === 403 ? " (VAULT_TOKEN needs update and sudo on sys/backup/*)" : ""}`,
    );
    return 1;
  }
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
  const store = new BackupStore(directory);
  const newest = store.names().at(-1);
  const verified = newest === undefined ? null : verifyBackup(store, newest);
  if (!verified?.ok) {
    say(verified?.error ?? `there is no backup in ${directory}`);
    return 1;
  }
  const { parts, started_at: at, release, seal_key_version: version, files } = verified.value;
  const found = { name: newest, at, release, parts, ...sumOf(files), seal_key_version: version };
  const text = `${newest}: ${found.objects} objects, ${found.rows} rows in ${parts} parts, whole; of ${at}, release ${release}`;
  console.log(json ? JSON.stringify(found) : `${text}, seal key version ${version}`);
  return 0;
}

// The copy is for this user only.
process.umask(0o077);
process.exitCode = await runCommand(parseBackupArguments(process.argv.slice(2)), HELP, say, backUp);
