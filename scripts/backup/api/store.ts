import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { backupName, timeOfBackup } from "../../../src/backup/names.ts";
import { err, ok, type Result } from "../../../src/base/result.ts";
import { writeDurably } from "../../local/durable-files.ts";
import { makeDirectory } from "../../local/make-directory.ts";
import { MANIFEST, type Manifest, PART, type Part, RUN, type Run } from "./manifest.ts";

const PARTS = "parts";
const UNFINISHED = "unfinished.jsonl";
const END = ".json";
/** Most bytes of a decompressed part. */
const MAX_PART_BYTES = 2 ** 27;

/**
 * A directory of backups of one server: a manifest for each backup, and the parts, named by the SHA-256 of their text. Backups share
 * unchanged parts. A backup exists once its manifest does.
 */
export class BackupStore {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Makes the directory. */
  open(): void {
    makeDirectory(join(this.#directory, PARTS));
  }

  /** Names of the backups, the oldest first. */
  names(): string[] {
    if (!existsSync(this.#directory)) return [];
    const files = readdirSync(this.#directory).filter((file) => file.endsWith(END));
    return files
      .map((file) => file.slice(0, -END.length))
      .filter((name) => timeOfBackup(name) !== null)
      .sort();
  }

  /** The error is for the operator. */
  read(name: string): Result<Manifest, string> {
    try {
      const read = MANIFEST.safeParse(JSON.parse(readFileSync(join(this.#directory, `${name}${END}`), "utf8")));
      return read.success
        ? ok(read.data)
        : err(`the manifest of ${name} ${read.error.issues[0]?.message ?? "is wrong"}`);
    } catch {
      return err(`the manifest of ${name} can't be read`);
    }
  }

  has(sha256: string): boolean {
    return existsSync(this.#file(sha256));
  }

  /** Stores a part durably. False, with nothing written, when the text has another hash. */
  keep(sha256: string, content: Uint8Array): boolean {
    if (hashOf(content) !== sha256) return false;
    writeDurably(this.#file(sha256), content);
    return true;
  }

  /** The compressed content of a part, after a check of its hash. The error is for the operator. */
  content({ sha256, number }: Part): Result<Buffer, string> {
    try {
      const content = readFileSync(this.#file(sha256));
      return hashOf(content) === sha256 ? ok(content) : err(`part ${number} is damaged`);
    } catch {
      return err(`part ${number} is missing`);
    }
  }

  /** The notes of an unfinished run; null without any. A line that a crash cut short is left out. */
  unfinished(): { readonly run: Run; readonly parts: readonly Part[] } | null {
    const file = join(this.#directory, UNFINISHED);
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
    const run = RUN.safeParse(parse(lines[0]));
    if (!run.success) return null;
    const parts = lines.slice(1).map((line) => PART.safeParse(parse(line)));
    const first = parts.findIndex(({ success }) => !success);
    return { run: run.data, parts: parts.slice(0, first < 0 ? parts.length : first).flatMap(({ data }) => data ?? []) };
  }

  /** Begins the notes of a run with its first parts. */
  begin(run: Run, parts: readonly Part[]): void {
    const lines = [run, ...parts].map((line) => `${JSON.stringify(line)}\n`);
    writeDurably(join(this.#directory, UNFINISHED), lines.join(""));
  }

  /** Notes a stored part of the run. */
  note(part: Part): void {
    appendFileSync(join(this.#directory, UNFINISHED), `${JSON.stringify(part)}\n`);
  }

  /** Writes the manifest of a backup whose parts are stored. */
  put(name: string, manifest: Manifest): void {
    writeDurably(join(this.#directory, `${name}${END}`), `${JSON.stringify(manifest, null, 1)}\n`);
  }

  /** Completes a backup by its manifest. Returns its name. `now` in ms. */
  finish(manifest: Manifest, now: number): string {
    const name = backupName(now);
    this.put(name, manifest);
    rmSync(join(this.#directory, UNFINISHED), { force: true });
    return name;
  }

  /** Deletes the oldest backups so that `keep` are left (0: all), and unused parts. Returns the names of the deleted backups. */
  prune(keep: number): string[] {
    if (keep === 0) return [];
    const names = this.names();
    const deleted = names.slice(0, Math.max(0, names.length - keep));
    const kept = names.slice(deleted.length).map((name) => this.read(name));
    // The parts of an unreadable manifest are unknown, so none is deleted.
    if (!kept.every((manifest) => manifest.ok)) return [];
    for (const name of deleted) rmSync(join(this.#directory, `${name}${END}`));
    const needed = new Set(kept.flatMap(({ value }) => value.files.map(({ sha256 }) => fileName(sha256))));
    for (const file of readdirSync(join(this.#directory, PARTS))) {
      if (!needed.has(file)) rmSync(join(this.#directory, PARTS, file));
    }
    return deleted;
  }

  #file(sha256: string): string {
    return join(this.#directory, PARTS, fileName(sha256));
  }
}

/** SHA-256 of a part's decompressed text, in hex; null when it can't be decompressed. */
function hashOf(content: Uint8Array): string | null {
  try {
    return createHash("sha256")
      .update(gunzipSync(content, { maxOutputLength: MAX_PART_BYTES }))
      .digest("hex");
  } catch {
    return null;
  }
}

function fileName(sha256: string): string {
  return `${sha256}.json.gz`;
}

function parse(line: string | undefined): unknown {
  try {
    return JSON.parse(line ?? "");
  } catch {
    return null;
  }
}
