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
import { makeDirectory } from "../../local/make-directory.ts";
import { type Called, failed } from "../client.ts";
import type { Session } from "../terminal.ts";

const ARCHIVE = z.object({
  objects: z.array(z.object({ object: z.string().regex(/^\d+\/\d+$/), state: z.string() })),
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

/** Copies the records that a directory lacks into it, with signed heads and the keys that verify them. Safe to repeat. */
export async function archiveAudit({ client, terminal, json }: Session, directory: string): Promise<Called<number>> {
  makeDirectory(directory);
  // The heads come first, so that every record that they cover is copied after them.
  const archive = await client.get("sys/audit/archive", ARCHIVE);
  if (!archive.ok) return archive;
  let copied = 0;
  for (const { object, state } of archive.value.objects) {
    if (state === "dropped") continue;
    const file = join(directory, `${object.replace("/", "-")}.jsonl`);
    let known = wholeLines(file);
    for (let isLast = false; !isLast; ) {
      const page = await client.get(`sys/audit/archive/${object}`, PAGE, { after: String(known) });
      if (!page.ok) return page;
      extend(file, page.value.lines);
      known += page.value.lines.length;
      copied += page.value.lines.length;
      isLast = page.value.last;
      terminal.progress(`${copied} records`);
    }
  }
  const keys = await client.call("GET", "identity/oidc/.well-known/keys");
  if (!keys.ok) return keys;
  const read = KEYS.safeParse(keys.value.body);
  if (!read.success) return failed("the server answered something else than keys");
  keepKeys(join(directory, "jwks.json"), read.data.keys);
  keepHeads(join(directory, "heads.jsonl"), archive.value.signed_heads);
  terminal.progress(null);
  terminal.out(
    json ? JSON.stringify({ directory, records: copied }) : `${copied} records were copied into ${directory}`,
  );
  return ok(0);
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
