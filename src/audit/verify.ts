import { ok, type Result, refuse } from "../base/result.ts";
import { fromBase64Url, toBase64Url } from "../crypto/bytes.ts";
import { FIRST_DIGEST, type Head } from "./chain.ts";
import { type AuditObject, LOST_ENTRY } from "./directory/tables.ts";
import type { AuditEnv } from "./env.ts";
import { auditDirectoryOf, auditShardAt, nameOfObject, readObjectName } from "./object-name.ts";
import type { AuditProblem } from "./shard/chain-check.ts";

/** Maximum number of steps of one call. */
const MAX_STEPS = 8;
const MAX_CURSOR = 256;
const DIGEST = /^[\w-]{43}$/;

interface FoundProblem {
  /** Name of the object. */
  readonly object: string;
  /** "unlisted": the directory lacks the object, or its entry was not written by Grove. */
  readonly problem: AuditProblem | "unlisted";
  /** Number of the first record that is missing or wrong; 0: the object itself. */
  readonly seq: number;
}

interface Verified {
  /** Numbers of what this call has checked. */
  readonly objects: number;
  readonly records: number;
  /** The first problem of each object. */
  readonly problems: readonly FoundProblem[];
  /** Where the next call goes on; "" when all is checked. */
  readonly next: string;
}

/** Where a call goes on: in an object, after a record. */
interface VerifyPlace extends Head {
  readonly object: string;
}

/**
 * Checks the chains of all objects against what the directory knows, a bounded part in each call. The first call, whose
 * `place` is null, compares the entries of the directory with each other.
 */
export async function verifyAudit(env: AuditEnv, place: VerifyPlace | null): Promise<Verified> {
  const directory = auditDirectoryOf(env);
  if (!place) await directory.checkList();
  const { objects, tampered } = await directory.entries();
  const problems: FoundProblem[] = place ? [] : listProblems(objects, tampered);
  const here = objects.filter(({ state }) => state !== "dropped").sort((a, b) => compare(a.name, b.name));
  const left = place ? here.filter(({ name }) => compare(name, place.object) >= 0) : here;
  let [checked, records, steps] = [0, 0, 0];
  for (const object of left) {
    const stub = auditShardAt(env, object.name);
    let head: Head = place?.object === object.name ? place : { seq: 0, digest: object.begins };
    if (head.seq === 0) {
      checked++;
      const problem = object.seq === 0 ? null : await stub.verifyBegin(object.name, object.begins);
      const isCut = object.broken !== null && object.broken !== LOST_ENTRY;
      const found = problem ?? (isCut ? "cut" : null);
      if (found) problems.push({ object: object.name, problem: found, seq: problem ? 0 : (object.broken ?? 0) + 1 });
      if (found) continue;
    }
    for (;;) {
      if (steps++ >= MAX_STEPS) {
        return { objects: checked, records, problems, next: writePlace({ ...head, object: object.name }) };
      }
      const step = await stub.verifyStep(head, object);
      records += step.head.seq - head.seq;
      head = step.head;
      if (step.problem) problems.push({ object: object.name, problem: step.problem.kind, seq: step.problem.seq });
      if (step.isEnd) break;
    }
  }
  return { objects: checked, records, problems, next: "" };
}

/** Every object begins with the end of the one before it, and none is left out. */
function listProblems(objects: readonly AuditObject[], tampered: readonly string[]): FoundProblem[] {
  const named = new Map(objects.map((object) => [object.name, object]));
  const places = [...objects.map(({ name }) => name), ...tampered].flatMap((name) => readObjectName(name) ?? []);
  const newest = Map.groupBy(places, ({ shard }) => shard);
  return [...newest].flatMap(([shard, all]) => {
    const count = Math.max(...all.map(({ number }) => number));
    const names = Array.from({ length: count }, (_, at) => nameOfObject({ shard, number: at + 1 }));
    return names.flatMap((name, at): FoundProblem[] => {
      const object = named.get(name);
      if (!object || object.broken === LOST_ENTRY) return [{ object: name, problem: "unlisted", seq: 0 }];
      const before = named.get(names[at - 1] ?? "");
      const end = at === 0 ? FIRST_DIGEST : before?.broken === LOST_ENTRY ? undefined : before?.digest;
      return end === undefined || end === object.begins ? [] : [{ object: name, problem: "replaced", seq: 0 }];
    });
  });
}

/** Names of the objects of which the directory knows that something was taken out or changed. No record is read. */
export async function knownProblems(env: AuditEnv): Promise<string[]> {
  const directory = auditDirectoryOf(env);
  await directory.checkList();
  const { objects, tampered } = await directory.entries();
  const broken = objects.filter((object) => object.broken !== null).map(({ name }) => name);
  return [...new Set([...broken, ...listProblems(objects, tampered).map(({ object }) => object)])];
}

function compare(a: string, b: string): number {
  const [one, other] = [readObjectName(a), readObjectName(b)];
  return (one?.shard ?? 0) - (other?.shard ?? 0) || (one?.number ?? 0) - (other?.number ?? 0);
}

function writePlace({ object, seq, digest }: VerifyPlace): string {
  return toBase64Url(new TextEncoder().encode([object, seq, digest].join(" ")));
}

/** Reads a cursor as a client sent it, "" for the first call. A forged cursor only makes its sender's result wrong. */
export function readVerifyCursor(cursor: string): Result<VerifyPlace | null> {
  if (cursor === "") return ok(null);
  const bytes = cursor.length <= MAX_CURSOR ? fromBase64Url(cursor) : null;
  const [object = "", seq = "", digest = ""] = bytes ? new TextDecoder().decode(bytes).split(" ") : [];
  const isPlace = readObjectName(object) !== null && /^\d{1,15}$/.test(seq) && DIGEST.test(digest);
  return isPlace ? ok({ object, seq: Number(seq), digest }) : refuse("cursor is none of this endpoint");
}
