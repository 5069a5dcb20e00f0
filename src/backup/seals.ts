import type { Ms } from "../base/clock.ts";
import { concat, equalBytes, fromBase64Url, randomBytes, toBase64Url } from "../crypto/bytes.ts";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";

const UTF8 = new TextEncoder();
const PART = UTF8.encode("part of a backup\0");
const BACKUP = UTF8.encode("backup\0");
const RESTORED = UTF8.encode("restored part of a backup\0");
const RUN = UTF8.encode("run of a backup\0");

/** `<start in ms>.<versions of the key terms at the start>.<8 random bytes and 8 bytes of a seal>` */
const RUN_NAME = /^(\d{13}\.\d{1,6}(?:-\d{1,6}){0,99})\.([A-Za-z0-9_-]{22})$/;
/** Number of random bytes in the name of a run, and of bytes of its seal. */
const HALF = 8;

/**
 * Makes a name for a run that starts at `now`. It is sealed, so no client can forge a name with another time. The seal
 * covers the `classes` of objects in the order in which the run reads them: positions of the run depend on it.
 */
export async function nameOfRun(keys: Keys, classes: readonly string[], now: Ms): Promise<string> {
  const start = `${now}.${versionsOf(keys).join("-")}`;
  const random = randomBytes(HALF);
  return `${start}.${toBase64Url(concat(random, await sealOfRun(keys, classes, start, random)))}`;
}

/**
 * Reads the name of a run: its start, and the versions of the key terms then. null: not of this installation, or begun
 * by a release that reads other classes or in another order.
 */
export async function readRun(keys: Keys, classes: readonly string[], name: string) {
  const [, start = "", text = ""] = RUN_NAME.exec(name) ?? [];
  const bytes = fromBase64Url(text);
  if (bytes?.length !== 2 * HALF) return null;
  const seal = await sealOfRun(keys, classes, start, bytes.slice(0, HALF));
  if (!equalBytes(bytes.slice(HALF), seal)) return null;
  const [began, terms = ""] = start.split(".");
  return { began: Number(began), terms: terms.split("-").map(Number) };
}

async function sealOfRun({ identity }: Keys, classes: readonly string[], start: string, random: Uint8Array) {
  return (await keyedHash(identity, RUN, random, UTF8.encode(JSON.stringify([start, classes])))).slice(0, HALF);
}

export function versionsOf({ terms }: Keys): number[] {
  return terms.map(({ version }) => version);
}

/**
 * The seal of a part with this SHA-256 (before compression, in hex). Only the keys of the installation can make it, so
 * a part can't be forged, changed, or taken from another backup. The key for ids, which makes it, is never replaced.
 * @param number of the part in the run, from 0.
 */
export function sealOfPart(keys: Keys, run: string, number: number, sha256: string): Promise<Uint8Array<ArrayBuffer>> {
  return keyedHash(keys.identity, PART, UTF8.encode(JSON.stringify([run, number, sha256])));
}

/** The seal of a backup. It covers the number of its parts. */
export function sealOfBackup(keys: Keys, run: string, parts: number): Promise<Uint8Array<ArrayBuffer>> {
  return keyedHash(keys.identity, BACKUP, UTF8.encode(JSON.stringify([run, parts])));
}

/** The receipt of a restored part (32 bytes), see `proofOf`. */
export function receiptOf(keys: Keys, run: string, number: number): Promise<Uint8Array<ArrayBuffer>> {
  return keyedHash(keys.identity, RESTORED, UTF8.encode(JSON.stringify([run, number])));
}

/** The proof that all parts of a run were restored: the XOR of all receipts, which does not depend on their order. */
export async function proofOf(keys: Keys, run: string, parts: number): Promise<Uint8Array<ArrayBuffer>> {
  let proof: Uint8Array<ArrayBuffer> = new Uint8Array(32);
  for (let number = 0; number < parts; number++) proof = xor(proof, await receiptOf(keys, run, number));
  return proof;
}

/** The XOR of two values of the same length. */
export function xor(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(a.map((byte, at) => byte ^ (b[at] ?? 0)));
}
