import {
  appendFileSync,
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { asCalled } from "../../local/command-line.ts";
import { makeDirectory } from "../../local/make-directory.ts";
import { type Called, failed } from "../client.ts";
import type { Session } from "../terminal.ts";
import { shortTime } from "./token-lines.ts";

const ARCHIVE = z.object({
  objects: z.array(
    z.object({
      object: z.string().regex(/^\d+\/\d+$/),
      state: z.string(),
      records: z.number(),
      opened_at: z.string(),
    }),
  ),
  signed_heads: z.array(z.string().regex(/^[\w.-]+$/)),
});
const PAGE = z.object({ lines: z.array(z.string().regex(/^[^\n]*$/)), after: z.number(), last: z.boolean() });
const KEYS = z.object({ keys: z.array(z.looseObject({ kid: z.string() })) });

/** A file is read in pieces of this many bytes: the file of one object can have a gigabyte. */
const PIECE = 2 ** 20;
const LINE_FEED = 10;

/** Counts the lines of a file, and cuts off an unterminated last line, which a crash left. */
function wholeLines(file: string): number {
  if (!existsSync(file)) return 0;
  const descriptor = openSync(file, "r+");
  try {
    const piece = Buffer.alloc(PIECE);
    let [lines, end, size] = [0, 0, 0];
    for (let read = readSync(descriptor, piece); read > 0; read = readSync(descriptor, piece)) {
      const bytes = piece.subarray(0, read);
      for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) {
        lines++;
        end = size + at + 1;
      }
      size += read;
    }
    if (end < size) ftruncateSync(descriptor, end);
    return lines;
  } finally {
    closeSync(descriptor);
  }
}

function extend(file: string, lines: readonly string[]): void {
  if (lines.length > 0) appendFileSync(file, lines.map((line) => `${line}\n`).join(""), { mode: 0o600 });
}

/** Stands for a record that the server no longer has. It changes the digest, so a check of the archive fails. */
const MISSING = '{"type":"missing"}';
/** The server's line for a record that it can't read. */
const UNREADABLE = '{"type":"unreadable"}';
/** Most missing records in one place: a larger gap means that the number of a record was changed. */
const MAX_MISSING = 1_000_000;
/** Signed heads are made this often, the first after this time. */
const HEADS_MS = 3_600_000;

type Listed = z.output<typeof ARCHIVE>["objects"][number];

/** What was copied of an object. */
interface Copied {
  readonly copied: number;
  /** Number of records that are missing or can't be read. */
  readonly missing: number;
}

/**
 * Copies the records of an object that the directory lacks.
 *
 * @param before number of records that were copied of other objects, for the progress.
 */
async function copyObject(
  { client, terminal }: Pick<Session, "client" | "terminal">,
  directory: string,
  { object, records }: Listed,
  before: number,
): Promise<Called<Copied>> {
  const file = join(directory, `${object.replace("/", "-")}.jsonl`);
  let [known, copied, missing] = [wholeLines(file), 0, 0];
  for (let isLast = false; !isLast; ) {
    const page = await client.get(`sys/audit/archive/${object}`, PAGE, { after: String(known) });
    if (!page.ok) return page;
    const { lines, after, last } = page.value;
    const gap = after - known - lines.length;
    if (gap > MAX_MISSING) return failed(`${object}: the numbers of its records were changed`);
    // The lines of a file keep the numbers of their records.
    extend(file, gap > 0 ? [...Array<string>(gap).fill(MISSING), ...lines] : lines);
    missing += Math.max(0, gap) + lines.filter((line) => line === UNREADABLE).length;
    copied += lines.length;
    known = after;
    isLast = last;
    terminal.progress(`${before + copied} records`);
  }
  // The server had these before the first page was read.
  return ok({ copied, missing: missing + Math.max(0, records - known) });
}

/**
 * Copies the records that a directory lacks into it, with signed heads and the keys that verify them. Safe to repeat. The
 * exit code is 1 when records that it was to copy are missing or can't be read.
 */
export async function archiveAudit(session: Session, directory: string): Promise<Called<number>> {
  const { client, terminal, json } = session;
  makeDirectory(directory);
  // The heads come first, so that every record that they cover is copied after them.
  const archive = await client.get("sys/audit/archive", ARCHIVE);
  if (!archive.ok) return archive;
  const { objects, signed_heads: heads } = archive.value;
  const damaged: (Pick<Listed, "object"> & Pick<Copied, "missing">)[] = [];
  let copied = 0;
  for (const listed of objects) {
    if (listed.state === "dropped") continue;
    const done = await copyObject(session, directory, listed, copied);
    if (!done.ok) return done;
    copied += done.value.copied;
    const { missing } = done.value;
    if (missing > 0) damaged.push({ object: listed.object, missing });
  }
  const keys = await client.call("GET", "identity/oidc/.well-known/keys");
  if (!keys.ok) return keys;
  const read = KEYS.safeParse(keys.value.body);
  if (!read.success) return failed("the server answered something else than keys");
  keepKeys(join(directory, "jwks.json"), read.data.keys);
  keepHeads(join(directory, "heads.jsonl"), heads);
  terminal.progress(null);
  if (json) terminal.out(JSON.stringify({ directory, records: copied, damaged }));
  else {
    terminal.out(`${copied} records were copied into ${directory}`);
    const opened = Math.min(...objects.map(({ opened_at: at }) => Date.parse(at)));
    if (heads.length === 0 && objects.length > 0)
      terminal.say(`no head is signed yet, the first at ${shortTime(new Date(opened + HEADS_MS).toISOString())}`);
    for (const { object, missing } of damaged)
      terminal.say(`${object}: ${missing} records are missing or can't be read: ${asCalled("audit verify")}`);
  }
  return ok(damaged.length > 0 ? 1 : 0);
}

function keepHeads(file: string, current: readonly string[]): void {
  const known = new Set(wholeLines(file) > 0 ? readFileSync(file, "utf8").split("\n") : []);
  extend(
    file,
    current.filter((head) => !known.has(head)),
  );
}

/** Adds keys to the stored ones: heads of earlier keys stay verifiable. */
function keepKeys(file: string, current: z.output<typeof KEYS>["keys"]): void {
  const known = existsSync(file) ? KEYS.parse(JSON.parse(readFileSync(file, "utf8"))).keys : [];
  const added = current.filter(({ kid }) => !known.some((key) => key.kid === kid));
  if (added.length === 0) return;
  const partial = `${file}.partial`;
  writeFileSync(partial, `${JSON.stringify({ keys: [...known, ...added] }, null, 1)}\n`);
  renameSync(partial, file);
}
