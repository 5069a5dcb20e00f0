import { setTimeout as pause } from "node:timers/promises";
import { type Bench, type CaseFigures, CONNECTIONS, lookUps, MIB, type Row } from "../case.ts";
import { runStream, type StreamResult } from "../load.ts";
import { plantForest } from "../seed/forest.ts";
import { ask, makeToken, member, send } from "../servers/client.ts";
import { ServeProcess } from "../servers/serve.ts";

/** Work that goes on after its answer. */
interface CleanUp {
  readonly name: string;
  /** Tokens that end by it. */
  readonly tokens: number;
  readonly begin: () => Promise<unknown>;
  readonly isOver: () => Promise<boolean>;
  /** A token that must be refused right after the answer. */
  readonly ended?: string;
}

/** Trees of one token each that stay, and are looked up all the time. */
const OTHERS = 16;
/** How long look-ups are measured before, and at most beside a clean-up (s). */
const BEFORE_SECONDS = 6;
const WATCH_SECONDS = 600;
const LOOK_MS = 500;
/** The p99 of look-ups beside a clean-up, as a ratio to that without. */
const SLOWER = 2;

/** Measures look-ups beside a run of tidy, the sweep of a tree with half of all tokens, and the end of a quarter of them by a prefix. */
export async function measureCleanUps(bench: Bench): Promise<CaseFigures> {
  const data = `${bench.directory}/clean-ups`;
  const half = Math.floor(bench.tokens / 2);
  bench.say(`planting ${bench.tokens} tokens`);
  const shape = { trees: Math.ceil(half / 100), tokens: half, largest: half };
  const { tops, ofLogins } = await plantForest(data, bench.secrets, shape);
  const server = await ServeProcess.start(data, bench.secrets);
  try {
    const others: string[] = [];
    while (others.length < OTHERS) others.push((await makeToken(server, "create-orphan", { ttl: "24h" })).token);
    const [top = "", , login = ""] = tops;
    let expected = await countTokens(server);
    const counted = (tokens: number, begin: CleanUp["begin"]): Omit<CleanUp, "name"> => {
      expected -= tokens;
      const left = expected;
      return { tokens, begin, isOver: async () => (await countTokens(server)) <= left };
    };
    const state = async () => member(await ask(server, "GET", "v1/auth/token/tidy-status"), "data", "state");
    const tidy = {
      begin: () => ask(server, "POST", "v1/auth/token/tidy"),
      isOver: async () => (await state()) === "finished",
    };
    const revoke = () => ask(server, "POST", "v1/auth/token/revoke", { token: top });
    const revokePrefix = () => ask(server, "PUT", "v1/sys/leases/revoke-prefix/auth/aws");
    const rows: Row[] = [];
    for (const cleanUp of [
      { name: "tidy", tokens: 0, ...tidy },
      { name: "sweep of one tree", ended: top, ...counted(half, revoke) },
      { name: "revocation by prefix", ended: login, ...counted(ofLogins, revokePrefix) },
    ]) {
      bench.say(cleanUp.name);
      rows.push(await measureBeside(server, others, cleanUp));
    }
    const targets = rows.map((row) => ({
      what: `${row["clean-up"]}: p99 of look-ups as a ratio to before`,
      got: Number(row["p99 beside"]) / Number(row["p99 before"]),
      atMost: SLOWER,
    }));
    return { tables: [rows], targets };
  } finally {
    await server.stop();
  }
}

async function measureBeside(server: ServeProcess, others: readonly string[], cleanUp: CleanUp): Promise<Row> {
  const stream = { connections: CONNECTIONS, requests: lookUps(others) };
  await runStream(server.url, stream, 1);
  const before = await runStream(server.url, stream, BEFORE_SECONDS);
  const memory = () => server.usage().worker.residentBytes / MIB;
  const memoryBefore = memory();
  let memoryMost = memoryBefore;
  const began = performance.now();
  await cleanUp.begin();
  const answerMs = performance.now() - began;
  if (cleanUp.ended !== undefined) {
    const holder = { url: server.url, token: cleanUp.ended };
    const { status } = await send(holder, "GET", "v1/auth/token/lookup-self");
    if (status !== 403) throw new Error(`${cleanUp.name}: a token that has ended was answered with ${status}`);
  }
  const seconds = () => (performance.now() - began) / 1000;
  const watch = async (): Promise<void> => {
    while (!(await cleanUp.isOver()) && seconds() < WATCH_SECONDS) {
      memoryMost = Math.max(memoryMost, memory());
      await pause(LOOK_MS);
    }
  };
  const over = watch();
  const beside = await runStream(server.url, stream, 2 * WATCH_SECONDS, over);
  await over;
  return {
    "clean-up": cleanUp.name,
    tokens: cleanUp.tokens,
    "answer ms": answerMs,
    "watched s": seconds(),
    "is over": (await cleanUp.isOver()) ? "yes" : "no",
    ...named("before", before),
    ...named("beside", beside),
    "MiB before": memoryBefore,
    "MiB most": memoryMost,
  };
}

function named(when: "before" | "beside", { perSecond, p50, p99, longest }: StreamResult): Row {
  return {
    [`look-ups/s ${when}`]: perSecond,
    [`p50 ${when}`]: p50,
    [`p99 ${when}`]: p99,
    [`longest ${when}`]: longest,
  };
}

/** Service tokens that the lists have. */
async function countTokens(server: ServeProcess): Promise<number> {
  // Lists are complete when they are read, and counters are not.
  await ask(server, "GET", "v1/auth/token/accessors?list=true&limit=1");
  const body = await ask(server, "GET", "v1/sys/internal/counters/tokens");
  return Number(member(body, "data", "counters", "service_tokens", "total"));
}
