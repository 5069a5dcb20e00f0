import { concat, equalBytes, fromBase64Url, randomBytes, toBase64Url } from "../crypto/bytes.ts";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";

const UTF8 = new TextEncoder();
const PART = UTF8.encode("part of a backup\0");
const BACKUP = UTF8.encode("backup\0");
const RESTORED = UTF8.encode("restored part of a backup\0");

const RUN = UTF8.encode("run of a backup\0");

/** `<begin in ms>.<terms of keys at the begin>.<8 random bytes and 8 of a seal>` */
const RUN_NAME = /^(\d{13}\.\d{1,6}(?:-\d{1,6}){0,99})\.([A-Za-z0-9_-]{22})$/;
/** Random bytes of a name, and bytes of its seal. */
const HALF = 8;

/** Names a run that begins at `now` (ms). It has a seal, so no client can name one of another time. */
export async function nameOfRun(keys: Keys, now: number): Promise<string> {
  const begin = `${now}.${versionsOf(keys).join("-")}`;
  const random = randomBytes(HALF);
  return `${begin}.${toBase64Url(concat(random, await sealOfRun(keys, begin, random)))}`;
}

/** When a run began (ms), and the terms of keys that there were; null for a name that no server of this installation has given. */
export async function readRun(
  keys: Keys,
  name: string,
): Promise<{ readonly began: number; readonly terms: readonly number[] } | null> {
  const [, begin = "", text = ""] = RUN_NAME.exec(name) ?? [];
  const bytes = fromBase64Url(text);
  if (bytes?.length !== 2 * HALF) return null;
  const seal = await sealOfRun(keys, begin, bytes.slice(0, HALF));
  if (!equalBytes(bytes.slice(HALF), seal)) return null;
  const [began, terms = ""] = begin.split(".");
  return { began: Number(began), terms: terms.split("-").map(Number) };
}

async function sealOfRun(keys: Keys, begin: string, random: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  return (await keyedHash(keys.identity, RUN, random, UTF8.encode(begin))).slice(0, HALF);
}

/** The terms of keys. */
export function versionsOf({ terms }: Keys): number[] {
  return terms.map(({ version }) => version);
}

/** A part among those of its run. */
export interface PartName {
  /** Names the run that made the backup. */
  readonly run: string;
  /** Counts from 0. */
  readonly number: number;
}

/**
 * The seal of a part: without the keys of the installation none can be made, changed, or taken from another backup. It is
 * under the key of ids, which is never replaced.
 *
 * @param sha256 of the part before it is compressed, in hex.
 */
export function sealOfPart(keys: Keys, { run, number }: PartName, sha256: string): Promise<Uint8Array<ArrayBuffer>> {
  return keyedHash(keys.identity, PART, textOf([run, number, sha256]));
}

/** The seal of a backup as a whole: it says how many parts there are. */
export function sealOfBackup(keys: Keys, run: string, parts: number): Promise<Uint8Array<ArrayBuffer>> {
  return keyedHash(keys.identity, BACKUP, textOf([run, parts]));
}

/** What a client gets for a part that was restored. */
export function receiptOf(keys: Keys, { run, number }: PartName): Promise<Uint8Array<ArrayBuffer>> {
  return keyedHash(keys.identity, RESTORED, textOf([run, number]));
}

/** What proves that all parts of a run were restored: all receipts together, in whatever order they came. */
export async function proofOf(keys: Keys, run: string, parts: number): Promise<Uint8Array<ArrayBuffer>> {
  let proof: Uint8Array<ArrayBuffer> = new Uint8Array(32);
  for (let number = 0; number < parts; number++) proof = together(proof, await receiptOf(keys, { run, number }));
  return proof;
}

/** Two proofs as one: XOR. */
export function together(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(a.map((byte, at) => byte ^ (b[at] ?? 0)));
}

function textOf(values: readonly (string | number)[]): Uint8Array<ArrayBuffer> {
  return concat(UTF8.encode(JSON.stringify(values)));
}
