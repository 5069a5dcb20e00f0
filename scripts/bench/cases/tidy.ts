import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { newRow, routedIdText } from "../../../src/token/ids.ts";
import { ACCESSOR_SHARDS, accessorShardName } from "../../../src/tree/index/accessor-shard-number.ts";
import { LISTED } from "../../../src/tree/index/index-store.ts";
import type { LoadRequest } from "../load/request.ts";
import { seedAccessors } from "../seed/accessors.ts";
import { openDatabase, treeIdOf } from "../seed/installation.ts";
import { seedTrees } from "../seed/trees.ts";
import { call, makeToken } from "../servers/call.ts";
import { GroveServer } from "../servers/grove.ts";
import { median } from "../statistics.ts";
import { assertAllGood, type Bench, CONNECTIONS, TOKEN_PATH } from "./bench.ts";
import { type SeededServer, startSeeded } from "./seeded-server.ts";

/** What a run of tidy did, and what it did to others. Times in ms. */
export interface TidyRun {
  /** How the accessors are spread over trees. */
  readonly where: string;
  /** Accessors that are listed before the run. */
  readonly accessors: number;
  /** Those of them that no token has. */
  readonly dangling: number;
  /** What the run says that it removed. */
  readonly removed: number;
  /** Dangling accessors that are still listed, and others that are not any more. */
  readonly left: number;
  readonly lost: number;
  readonly seconds: number;
  readonly before: Latency;
  /** The middle of the windows while it ran, and the worst p99. */
  readonly during: Latency;
  readonly worstP99: number;
  /** MiB, before the run and at most during it. */
  readonly memoryBefore: number;
  readonly memoryMost: number;
}

/** Of look-ups, as fast as they are answered. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

const WINDOW_SECONDS = 2;
/** One accessor in so many is given no token. */
const DANGLING_ONE_IN = 100;
const DAY_MS = 86_400_000;
/** Random part and tag of an accessor. */
const TAIL_BYTES = 24;
/** A run that has not ended by then is a fault of its own. */
const LONGEST_SECONDS = 900;

/** Tidies one tree of `count` tokens. */
export async function tidyTree(bench: Bench, count: number): Promise<TidyRun> {
  const directory = `${bench.directory}/tidy-tree-${count}`;
  const seeded = await startSeeded(bench.build, directory, count);
  await seeded.server.stop();
  return tidy(bench, seeded, `one tree of ${count}`, treeIdOf(seeded.branch.accessor), count);
}

/** Tidies `count` trees of one token. */
export async function tidyForest(bench: Bench, count: number): Promise<TidyRun> {
  const directory = `${bench.directory}/tidy-trees-${count}`;
  const seeded = await startSeeded(bench.build, directory, 1);
  const like = await makeToken(seeded.server, "create-orphan", { ttl: "24h", policies: ["default"] });
  await seeded.server.stop();
  await seedTrees(bench.build, directory, like, count);
  return tidy(bench, seeded, `${count} trees of one`, treeIdOf(like.accessor), count);
}

async function tidy(
  bench: Bench,
  { directory, branch, siblings, others }: SeededServer,
  where: string,
  treeId: string,
  count: number,
): Promise<TidyRun> {
  bench.say(`tidy: ${where}`);
  const { build, load } = bench;
  const dangling = danglingAccessors(treeId, count / DANGLING_ONE_IN);
  seedAccessors(build, directory, branch.accessor, dangling);
  const listed = listedAccessors(bench, directory);
  const server = await GroveServer.start(build, directory);
  try {
    const requests = [...siblings, ...others].map((token): LoadRequest => {
      return { label: "look-up", method: "GET", path: `${TOKEN_PATH}lookup-self`, token };
    });
    const lookUps = async (): Promise<Latency> => {
      const streams = [{ connections: CONNECTIONS, requests, spread: true }];
      const result = await load.run({ place: server.place, seconds: WINDOW_SECONDS, streams });
      for (const [name, label] of Object.entries(result.labels)) assertAllGood(name, label);
      return result.labels["look-up"]?.latencyMs ?? { p50: 0, p99: 0 };
    };
    await lookUps();
    const before = await lookUps();
    const memoryBefore = server.usage().memoryMiB;
    let memoryMost = memoryBefore;
    const windows: Latency[] = [];
    const began = performance.now();
    const seconds = () => (performance.now() - began) / 1000;
    await call(server, "POST", "auth/token/tidy");
    let removed: number | null = null;
    while (removed === null && seconds() < LONGEST_SECONDS) {
      windows.push(await lookUps());
      memoryMost = Math.max(memoryMost, server.usage().memoryMiB);
      removed = await removedWhenOver(server);
    }
    const took = seconds();
    await server.stop();
    const after = listedAccessors(bench, directory);
    const gone = new Set(dangling);
    return {
      where,
      accessors: listed.size,
      dangling: dangling.length,
      removed: removed ?? 0,
      left: dangling.filter((accessor) => after.has(accessor)).length,
      lost: [...listed].filter((accessor) => !gone.has(accessor) && !after.has(accessor)).length,
      seconds: took,
      before,
      during: { p50: median(windows.map(({ p50 }) => p50)), p99: median(windows.map(({ p99 }) => p99)) },
      worstP99: Math.max(...windows.map(({ p99 }) => p99)),
      memoryBefore,
      memoryMost,
    };
  } finally {
    await server.stop();
  }
}

/** What listing page by page cost. */
export interface Paging {
  readonly accessors: number;
  readonly page: number;
  /** Milliseconds of one page: of those in the first tenth, in the last tenth, and the slowest of all. */
  readonly firstMs: number;
  readonly lastMs: number;
  readonly worstMs: number;
  /** MiB: before, at most while the whole list was read once, and at most while it was read again and again. */
  readonly memoryBefore: number;
  readonly memoryOnce: number;
  readonly memoryAgain: number;
}

const PAGE = 1_000;
const READINGS = 5;

/** Pages through a list of `count` accessors several times. */
export async function pageThrough(bench: Bench, count: number): Promise<Paging> {
  bench.say(`listing: ${count} accessors`);
  const { server } = await startSeeded(bench.build, `${bench.directory}/listing-${count}`, count);
  try {
    const memoryBefore = server.usage().memoryMiB;
    const times: number[] = [];
    const memory: number[] = [];
    let accessors = 0;
    for (let reading = 0; reading < READINGS; reading++) {
      accessors = 0;
      let most = 0;
      for (let after = ""; ; ) {
        const began = performance.now();
        const { body } = await call(server, "GET", `auth/token/accessors?list=true&limit=${PAGE}&after=${after}`);
        if (reading === 0) times.push(performance.now() - began);
        const keys = body?.data?.keys ?? [];
        most = Math.max(most, server.usage().memoryMiB);
        accessors += keys.length;
        after = keys.at(-1) ?? "";
        if (keys.length < PAGE) break;
      }
      memory.push(most);
      // The garbage collector returns memory with a delay.
      await pause(500);
    }
    const tenth = Math.max(1, Math.floor(times.length / 10));
    return {
      accessors,
      page: PAGE,
      firstMs: median(times.slice(1, tenth + 1)),
      lastMs: median(times.slice(-tenth)),
      worstMs: Math.max(...times),
      memoryBefore,
      memoryOnce: memory[0] ?? 0,
      memoryAgain: Math.max(...memory),
    };
  } finally {
    await server.stop();
  }
}

async function removedWhenOver(server: GroveServer): Promise<number | null> {
  const { body } = await call(server, "GET", "auth/token/tidy-status");
  const last = body?.data?.last as { readonly accessors_removed?: number } | null | undefined;
  return body?.data?.state === "finished" ? (last?.accessors_removed ?? 0) : null;
}

function danglingAccessors(treeId: string, count: number): string[] {
  const longAgo = Date.now() - DAY_MS;
  return Array.from({ length: count }, (_, number) =>
    routedIdText(treeId, newRow(longAgo - number), randomBytes(TAIL_BYTES)),
  );
}

/** Everything that is listed, read from the databases of a stopped server. */
function listedAccessors({ build }: Bench, directory: string): Set<string> {
  const all = new Set<string>();
  for (let number = 0; number < ACCESSOR_SHARDS; number++) {
    const database = openDatabase(build, directory, "AccessorShard", accessorShardName(number));
    for (const { accessor } of database.prepare(`SELECT accessor FROM ${LISTED}`).iterate()) all.add(String(accessor));
    database.close();
  }
  return all;
}
