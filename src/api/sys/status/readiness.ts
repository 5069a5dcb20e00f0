import { currentTime, isWithin } from "../../../base/clock.ts";
import { inTime } from "../../../base/in-time.ts";
import type { Env } from "../../../env.ts";
import { identityOf } from "../../../identity/directory/stub.ts";
import { accessorShard, shardNumbers } from "../../../listing/accessor-shard.ts";
import { systemOf } from "../../../system/system.ts";
import { tidyOf } from "../../../tidy/tidy.ts";

/** How long an isolate answers what it found last, in ms: anybody may ask, so asking must not reach objects every time. */
const MAX_AGE_MS = 5_000;
/** A request can end with its client before it has an answer; after so long (ms) another one tries. An object that takes longer fails. */
const PROBE_MS = 3_000;

/** What was found when the objects were last asked. */
export interface Readiness {
  /** Names of objects that did not answer. */
  readonly failing: readonly string[];
  /** ms. */
  readonly checkedAt: number;
}

let last: Readiness | null = null;
let probingSince = Number.NEGATIVE_INFINITY;

/** What was found when this isolate last asked; null when it never did. */
export function lastReadiness(): Readiness | null {
  return last;
}

/** Whether the objects that every request may need do answer: found out at most every five seconds. */
export async function readiness(env: Env): Promise<Readiness> {
  const now = currentTime();
  if (last && (isWithin(last.checkedAt, MAX_AGE_MS, now) || isWithin(probingSince, PROBE_MS, now))) return last;
  probingSince = now;
  try {
    last = { failing: await failingObjects(env), checkedAt: now };
    return last;
  } finally {
    probingSince = Number.NEGATIVE_INFINITY;
  }
}

async function failingObjects(env: Env): Promise<string[]> {
  const shards = shardNumbers().map((number): [string, () => Promise<unknown>] => [
    `accessor shard ${number}`,
    () => accessorShard(env, number).countLeases(1),
  ]);
  const probes: readonly [string, () => Promise<unknown>][] = [
    ["system", () => systemOf(env).findMount("token/")],
    ["identity", () => identityOf(env).shards()],
    ["tidy", () => tidyOf(env).status()],
    ...shards,
  ];
  const found = await Promise.all(probes.map(async ([name, ask]) => ((await answers(ask)) ? [] : [name])));
  return found.flat();
}

async function answers(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await inTime(ask(), PROBE_MS);
    return true;
  } catch {
    return false;
  }
}
