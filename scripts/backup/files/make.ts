import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { backupName, timeOfBackup } from "../../../src/backup/names.ts";
import { err, ok, type Result } from "../../../src/base/result.ts";
import { sealedWithVersion } from "../../../src/crypto/key-ring.ts";
import { fileFailure, helpAsCalled, isOfFile } from "../../local/command-line.ts";
import { DataDirectory } from "../../local/data-directory.ts";
import { flush } from "../../local/durable-files.ts";
import { makeDirectory } from "../../local/make-directory.ts";
import { sourceCommit, sourceVersion } from "../../local/source-version.ts";
import { PAUSE_SOCKET, RunningServer } from "../../serve/backup-pause.ts";
import { NODE_FILE } from "../../serve/cluster/join-cluster.ts";
import { DirectoryCopy } from "./copy.ts";
import { COPY_NOTE } from "./copy-note.ts";
import { digestsOf } from "./digests.ts";
import { sealedKeyRingIn } from "./sealed-key-ring.ts";
import { verifyDatabases } from "./verify.ts";

/** Files of a backup besides the databases. Every start makes the built Worker and the lock anew. */
const SMALL_FILES = ["installation-id", "last-served"];
const OBJECTS = "objects";
/** Suffix of an unfinished backup. */
const PARTIAL = ".partial";

/** A backup that was made. */
export interface Backup {
  readonly directory: string;
  /** The moment of the data (RFC 3339). */
  readonly at: string;
  /** The version of Grove that made it. */
  readonly version: string;
  readonly databases: number;
  /** Version of the seal key that opens the data; absent before the installation is initialized. */
  readonly sealKeyVersion?: number;
  /** Length of the pause (ms); 0 when the server was not running. */
  readonly pausedMs: number;
  /** Names of older backups that were deleted. */
  readonly deleted: readonly string[];
}

interface Wanted {
  readonly data: string;
  readonly to: string;
  readonly keep: number;
}

/** Files that a message names. */
const NAMED_FILES = 10;

function damageText(data: string, damage: readonly string[]): string {
  const files = damage.slice(0, NAMED_FILES).join("\n");
  return `there is no new backup, and older ones are kept: ${damage.length} of the databases of ${data} came damaged into the copy. A server that reports damage as well needs an older one (${helpAsCalled("docs/runbook.md")}, Restore); else the copy's own disk is at fault.\n${files}`;
}

/** Makes a backup, or leaves nothing behind. The error is for the operator. */
export async function makeBackup({ data, to, keep }: Wanted): Promise<Result<Backup, string>> {
  const from = resolve(data);
  const target = resolve(to);
  if (existsSync(join(from, NODE_FILE)))
    return err(`${from} is of a node of a cluster, whose data are in its bucket: --address URL saves them`);
  if (!existsSync(join(from, "installation-id"))) return err(`${from} is no data directory of a server`);
  if (`${target}${sep}`.startsWith(`${from}${sep}`)) return err("--to must not be in the data directory");
  const source = await openSource(from);
  if (!source.ok) return source;
  const name = backupName(Date.now());
  const partial = join(target, `${name}${PARTIAL}`);
  try {
    makeDirectory(partial);
    const copied = await source.value.copy(partial);
    if (!copied.ok) return copied;
    const { databases, damage } = verifyDatabases(join(partial, OBJECTS));
    if (damage.length > 0) return err(damageText(from, damage));
    const version = sourceVersion(sourceCommit());
    const sealKeyVersion = sealedWithVersion(sealedKeyRingIn(join(partial, OBJECTS)) ?? "");
    const { at, pausedMs } = copied.value;
    const known = { at: new Date(at).toISOString(), version, databases, pausedMs };
    const backup = { ...known, ...(sealKeyVersion !== null && { sealKeyVersion }) };
    const note = { ...backup, files: digestsOf(partial) };
    writeFileSync(join(partial, COPY_NOTE), `${JSON.stringify(note)}\n`, { mode: 0o600 });
    flushTree(partial);
    const directory = join(target, name);
    renameSync(partial, directory);
    return ok({ directory, ...backup, deleted: prune(target, keep) });
  } catch (error) {
    return err(`the backup failed: ${failureText(error)}`);
  } finally {
    source.value.close();
    rmSync(partial, { recursive: true, force: true });
  }
}

interface Copied {
  /** The moment of the data (ms). */
  readonly at: number;
  readonly pausedMs: number;
}

interface Source {
  copy(to: string): Promise<Result<Copied, string>>;
  close(): void;
}

/** The data of a running server, or of a stopped one, which can't start during the copy. */
async function openSource(from: string): Promise<Result<Source, string>> {
  const server = await RunningServer.find(join(from, PAUSE_SOCKET));
  if (server) return ok({ copy: (to) => copyRunning(server, from, to), close: () => server.close() });
  const locked = DataDirectory.open(from);
  if (!locked.ok) return err(`${locked.error}. It takes no backups while it runs: is it of an older release?`);
  return ok({
    copy: async (to) => {
      const copy = new DirectoryCopy(join(from, OBJECTS), join(to, OBJECTS));
      const at = Date.now();
      copy.pass(Date.now);
      copySmallFiles(from, to);
      return ok({ at, pausedMs: 0 });
    },
    close: () => locked.value.close(),
  });
}

async function copyRunning(server: RunningServer, from: string, to: string): Promise<Result<Copied, string>> {
  const copy = new DirectoryCopy(join(from, OBJECTS), join(to, OBJECTS));
  copy.pass(Date.now);
  // A second pass, so that the last one, during the pause, has little to copy.
  copy.pass(Date.now);
  const asked = performance.now();
  const held = await server.whilePaused(() => {
    const at = Date.now();
    copy.pass(Date.now);
    copySmallFiles(from, to);
    return at;
  });
  if (!held.ok) return held;
  return ok({ at: held.value, pausedMs: Math.round(performance.now() - asked) });
}

function copySmallFiles(from: string, to: string): void {
  for (const name of SMALL_FILES.filter((file) => existsSync(join(from, file)))) {
    writeFileSync(join(to, name), readFileSync(join(from, name)), { mode: 0o600 });
  }
}

/**
 * The entries to delete so that `keep` finished backups stay (0: all), and unfinished ones that were abandoned. Entries that no backup made
 * are never among them.
 */
export function superfluous(entries: readonly string[], keep: number): string[] {
  const finished = entries.filter((name) => timeOfBackup(name) !== null).sort();
  const left = entries.filter(
    (name) => name.endsWith(PARTIAL) && timeOfBackup(name.slice(0, -PARTIAL.length)) !== null,
  );
  return [...left, ...(keep > 0 ? finished.slice(0, Math.max(0, finished.length - keep)) : [])];
}

function prune(directory: string, keep: number): string[] {
  const names = superfluous(readdirSync(directory), keep);
  for (const name of names) rmSync(join(directory, name), { recursive: true, force: true });
  return names;
}

/** Flushes a directory and its files to the disk. */
function flushTree(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) flushTree(path);
    else flush(path);
  }
  flush(directory);
}

function failureText(error: unknown): string {
  if (isOfFile(error)) return fileFailure(error);
  return error instanceof Error ? error.message : String(error);
}
