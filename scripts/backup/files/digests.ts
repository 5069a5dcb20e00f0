import { createHash } from "node:crypto";
import { closeSync, lstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { z } from "zod";
import { COPY_NOTE } from "./copy-note.ts";

const CHUNK_BYTES = 1 << 20;
/** Most files that a text for the operator names. */
const MAX_NAMED = 5;

/** Size and SHA-256 (hex) of each file of a copy except its note, by its path with slashes. */
export const DIGESTS = z.record(
  z.string(),
  z.object({ bytes: z.number(), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
);
export type Digests = z.infer<typeof DIGESTS>;

/** Reads all files of a copy. */
export function digestsOf(directory: string): Digests {
  const files = filesOf(directory).map((name) => [name, digestOf(join(directory, name))] as const);
  return Object.fromEntries(files);
}

/** How the files of a copy differ from their digests, for the operator; null when they do not. */
export function differenceFrom(directory: string, digests: Digests): string | null {
  const there = new Set(filesOf(directory));
  const missing = Object.keys(digests).filter((name) => !there.has(name));
  const problems = [
    ...missing.map((name) => `${name} is missing`),
    ...[...there].flatMap((name) => problemOf(join(directory, name), name, digests) ?? []),
  ];
  if (problems.length === 0) return null;
  const more = problems.length - MAX_NAMED;
  return [...problems.slice(0, MAX_NAMED), ...(more > 0 ? [`and ${more} more files`] : [])].join("; ");
}

function problemOf(path: string, name: string, digests: Digests): string | null {
  try {
    return differenceOf(path, name, digests);
  } catch (error) {
    // A disk error, or a file of another user.
    return `${name} can't be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function differenceOf(path: string, name: string, digests: Digests): string | null {
  const digest = Object.hasOwn(digests, name) ? digests[name] : undefined;
  // The file may be a write-ahead log, which would change what SQLite reads from the database beside it.
  if (!digest) return `${name} does not belong to it`;
  const found = lstatSync(path);
  if (!found.isFile()) return `${name} is no file`;
  if (found.size !== digest.bytes) return `${name} has ${found.size} of ${digest.bytes} bytes`;
  return digestOf(path).sha256 === digest.sha256 ? null : `${name} is damaged: it is not what its SHA-256 says`;
}

function filesOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).replaceAll(sep, "/"))
    .filter((name) => name !== COPY_NOTE)
    .sort();
}

/** In chunks: a database may be larger than the memory. */
function digestOf(path: string): Digests[string] {
  const hash = createHash("sha256");
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const file = openSync(path, "r");
  try {
    let bytes = 0;
    for (let read = -1; read !== 0; bytes += read) {
      read = readSync(file, chunk);
      hash.update(chunk.subarray(0, read));
    }
    return { bytes, sha256: hash.digest("hex") };
  } finally {
    closeSync(file);
  }
}
