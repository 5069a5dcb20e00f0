import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { type Called, failed } from "../client.ts";
import type { Session } from "../terminal.ts";

const ARCHIVE = z.object({
  objects: z.array(z.object({ object: z.string().regex(/^\d+\/\d+$/), state: z.string() })),
  signed_heads: z.array(z.string().regex(/^[\w.-]+$/)),
});
const PAGE = z.object({ lines: z.array(z.string()), after: z.number(), last: z.boolean() });
const KEYS = z.object({ keys: z.array(z.looseObject({ kid: z.string() })) });

/** The lines of a file; a last one without an end, which a crash left, is none. */
function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

/** Writes the lines that a file lacks. A line that was cut by a crash is written anew. */
function extend(file: string, known: readonly string[], added: readonly string[]): void {
  const whole = known.map((line) => `${line}\n`).join("");
  if (existsSync(file) && readFileSync(file, "utf8").length !== whole.length)
    writeFileSync(file, whole, { mode: 0o600 });
  if (added.length > 0) appendFileSync(file, added.map((line) => `${line}\n`).join(""), { mode: 0o600 });
}

/** Copies the records that a directory lacks into it, with signed heads and the keys that verify them. Safe to repeat. */
export async function archiveAudit({ client, terminal }: Session, directory: string): Promise<Called<number>> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // The heads come first, so that every record that they cover is copied after them.
  const archive = await client.get("sys/audit/archive", ARCHIVE);
  if (!archive.ok) return archive;
  let copied = 0;
  for (const { object, state } of archive.value.objects) {
    if (state === "dropped") continue;
    const file = join(directory, `${object.replace("/", "-")}.jsonl`);
    for (let isLast = false; !isLast; ) {
      const known = linesOf(file);
      const page = await client.get(`sys/audit/archive/${object}`, PAGE, { after: String(known.length) });
      if (!page.ok) return page;
      extend(file, known, page.value.lines);
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
  const heads = join(directory, "heads.jsonl");
  const known = linesOf(heads);
  extend(
    heads,
    known,
    archive.value.signed_heads.filter((head) => !known.includes(head)),
  );
  terminal.progress(null);
  terminal.out(`${copied} records were copied into ${directory}`);
  return ok(0);
}

/** Adds keys to those that are there: heads of earlier keys stay verifiable. */
function keepKeys(file: string, current: z.output<typeof KEYS>["keys"]): void {
  const known = existsSync(file) ? KEYS.parse(JSON.parse(readFileSync(file, "utf8"))).keys : [];
  const added = current.filter(({ kid }) => !known.some((key) => key.kid === kid));
  if (added.length > 0) writeFileSync(file, `${JSON.stringify({ keys: [...known, ...added] }, null, 1)}\n`);
}
