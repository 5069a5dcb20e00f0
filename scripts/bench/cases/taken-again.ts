import { setTimeout as pause } from "node:timers/promises";
import { inGroups } from "../../../src/base/parallel.ts";
import type { LoadRequest } from "../load/request.ts";
import { startBare } from "../servers/bare.ts";
import { type Access, call, makeToken, type OtherServer } from "../servers/call.ts";
import { startGatewayProcess } from "../servers/gateway.ts";
import { GroveServer } from "../servers/grove.ts";
import { usageOf } from "../servers/usage.ts";
import { type Bench, type Measurable, measureOne, type Sample, TOKEN_PATH } from "./bench.ts";

/** Creations of tokens without a parent that take trees of tokens that have ended. */
export const TAKEN_AGAIN = [
  {
    name: "create-orphan-again",
    title: "the same, trees taken again",
    reference: "an object awake, one write",
    target: 0.6,
    cpuTarget: 1.2,
  },
  {
    name: "create-orphan-woken",
    title: "the same, trees taken again that sleep",
    reference: "an object asleep, one write",
    target: 0.8,
    cpuTarget: 1.2,
  },
] as const;

export type TakenAgainName = (typeof TAKEN_AGAIN)[number]["name"];

/** What one round has measured, on the servers in the order in which they were. */
export interface Round {
  readonly reference: Sample;
  readonly sample: Sample;
  readonly other: Sample | null;
  readonly served: Sample | null;
}

/** One server of a comparison. */
interface Side {
  /** Makes what the measurement takes again: so many ended tokens, or objects. */
  readonly prepare: (count: number) => Promise<unknown>;
  readonly measure: () => Promise<Sample>;
}

/** An object is put to sleep ten seconds after its last call (ms). */
const ASLEEP_AFTER_MS = 13_000;
/** Before each measurement as many tokens are made and end as it can use; so it is short. */
const MOST_SECONDS = 1;
/** Tokens that the first measurement uses for each second, and how many there are for each one that the last one used. */
const FIRST_RATE = 400;
const RESERVE = 1.4;
/** Tokens that are made in a second on a slow machine: they live until all are made. */
const MADE_A_SECOND = 80;
/** Ids of new trees that a server may have drawn before there were freed ones: they are used up first. */
const DRAWN_AT_ONCE = 64;
/** The bare Worker makes objects for so many times as long as it then writes to them. */
const BARE_RESERVE = 2;
/** How long the end of those tokens may take, and how often is looked (ms). */
const PATIENCE_MS = 60_000;
const LOOK_MS = 200;

const FIELDS = { ttl: "1h", policies: ["default"] };

/** Measures the operations round after round, the first time to warm up: that round is told of as number 0. */
export async function measureTakenAgain(
  bench: Bench,
  names: readonly TakenAgainName[],
  other: OtherServer | null,
  measured: (name: TakenAgainName, round: number, samples: Round) => void,
): Promise<void> {
  if (names.length === 0) return;
  const bare = await startBare(`${bench.directory}/bare-again`, bench.build.model.compatibilityDate);
  const grove = await GroveServer.start(bench.build, `${bench.directory}/again`);
  const gateway = await startGatewayProcess(grove.socket);
  try {
    const short: Bench = { ...bench, seconds: Math.min(bench.seconds, MOST_SECONDS) };
    const creation = await creationBy(grove);
    const ofGrove = (server: Measurable): Side => ({
      prepare: (count) => endTokens(grove, count),
      measure: async () => {
        await makeTokens(grove, DRAWN_AT_ONCE, FIELDS.ttl);
        return measureOne(short, server, creation);
      },
    });
    const sides = {
      reference: bareSide(short, bare),
      sample: ofGrove(grove),
      other: other && (await otherSide(short, other)),
      served: other && ofGrove({ place: gateway.place, usage: () => grove.usage(), gateway }),
    };
    let rate = FIRST_RATE;
    for (let round = 0; round <= bench.rounds; round++) {
      for (const name of names) {
        bench.say(`${name}: ${round === 0 ? "warming up" : `round ${round} of ${bench.rounds}`}`);
        const count = Math.ceil(rate * short.seconds * RESERVE);
        const isAsleep = name === "create-orphan-woken";
        if (isAsleep) {
          await Promise.all([sides.reference.prepare(count), sides.sample.prepare(other ? 2 * count : count)]);
          await sides.other?.prepare(count);
          await pause(ASLEEP_AFTER_MS);
        }
        const measure = async ({ prepare, measure: take }: Side) => {
          if (!isAsleep) await prepare(count);
          return take();
        };
        const samples = {
          reference: await measure(sides.reference),
          sample: await measure(sides.sample),
          other: sides.other && (await measure(sides.other)),
          served: sides.served && (await measure(sides.served)),
        };
        rate = Math.max(samples.sample.perSecond, samples.served?.perSecond ?? 0);
        measured(name, round, samples);
      }
    }
  } finally {
    await gateway.stop();
    await grove.stop();
    await bare.stop();
  }
}

function bareSide(bench: Bench, bare: Measurable): Side {
  const at = (path: string): LoadRequest => ({ label: "bare", method: "GET", path });
  const longer = { ...bench, seconds: BARE_RESERVE * bench.seconds };
  return {
    prepare: () => measureOne(longer, bare, at("/passing-object")),
    measure: () => measureOne(bench, bare, at("/object-again")),
  };
}

async function otherSide(bench: Bench, other: OtherServer): Promise<Side> {
  const creation = await creationBy(other);
  return {
    prepare: (count) => endTokens(other, count),
    measure: () => measureOne(bench, measurable(other), creation),
  };
}

async function creationBy(access: Access): Promise<LoadRequest> {
  const { token } = await makeToken(access, "create-orphan", { ttl: "24h", policies: ["root"] });
  return { label: "create-orphan", method: "POST", path: `${TOKEN_PATH}create-orphan`, token, body: FIELDS };
}

/** Makes tokens without a parent that end by their time, once all are made, and waits until they are gone. */
async function endTokens(access: Access, count: number): Promise<void> {
  const before = await countListed(access);
  const ttl = `${Math.ceil(count / MADE_A_SECOND)}s`;
  await makeTokens(access, count, ttl);
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await pause(LOOK_MS)) {
    if ((await countListed(access)) <= before) return;
  }
  throw new Error("the tokens do not go");
}

async function makeTokens(access: Access, count: number, ttl: string): Promise<void> {
  await inGroups(Array.from({ length: count }), () => makeToken(access, "create-orphan", { ...FIELDS, ttl }));
}

async function countListed(access: Access): Promise<number> {
  const { body } = await call(access, "GET", "auth/token/accessors?list=true");
  return body?.data?.keys?.length ?? 0;
}

/** The other server, with what its process uses when that is known. */
export function measurable({ place, pid }: OtherServer): Measurable {
  return pid === null ? { place } : { place, usage: () => usageOf(pid) };
}
