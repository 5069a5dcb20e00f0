import { execFileSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { inPool } from "../../src/base/parallel.ts";
import { type Bench, type CaseFigures, type LargeInstallation, MIB, type Row } from "../case.ts";
import { lookUpAtRate, type Waits } from "../open-loop.ts";
import { plantThroughApi } from "../seed/api.ts";
import type { Forest } from "../seed/forest.ts";
import { ask, makeToken, member, send } from "../servers/client.ts";
import { ServeProcess } from "../servers/serve.ts";

/** A request whose work continues in the background after its answer. */
interface CleanUp {
  readonly name: string;
  readonly begin: (server: ServeProcess, forest: Forest) => Promise<unknown>;
  /** A token that must be invalid as soon as the request is answered. */
  readonly ended?: (forest: Forest) => string | undefined;
}

/** Number of single-token trees that look-ups read. No clean-up removes them. */
const WATCHED_TREES = 16;
/** Look-ups per second: a small fraction of each server's capacity. */
const RATES = { serve: 150, dev: 50 };
/** Duration of the look-ups before a clean-up and during it (s). */
const BEFORE_SECONDS = 10;
const BESIDE_SECONDS = 15;
/** Small trees that are revoked by one request each. */
const SMALL_TREES = 500;
/** Concurrent revocations. */
const PARALLEL = 8;
/**
 * The previous clean-up has ended when the number of tokens is constant for this time (ms).
 * It exceeds the 10 s after which idle objects are evicted.
 */
const SETTLE_MS = 11_000;
/** Maximum number of such waits. */
const SETTLE_ROUNDS = 3;
/** Target: p99 of look-ups during a clean-up as a ratio to the p99 before it. */
const MAX_P99_RATIO = 2;
/** The installation under `npm run dev`: tokens in the largest tree, and number of two-token trees of each kind. */
const DEV_SHAPE = { largest: 2000, trees: 500 };

const CLEAN_UPS: readonly CleanUp[] = [
  { name: "tidy of tokens", begin: (server) => ask(server, "POST", "v1/auth/token/tidy") },
  {
    name: "sweep of one tree",
    begin: (server, { largest }) => revoke(server, largest),
    ended: ({ largest }) => largest,
  },
  {
    name: "sweeps of many trees",
    begin: (server, { plain }) => inPool(plain.slice(0, SMALL_TREES), PARALLEL, (top) => revoke(server, top)),
    ended: ({ plain }) => plain[0],
  },
  {
    name: "revocation by prefix",
    begin: (server) => ask(server, "PUT", "v1/sys/leases/revoke-prefix/auth/token/create/ci"),
    ended: ({ ofRole }) => ofRole[0],
  },
  {
    name: "a mount is disabled",
    begin: (server) => ask(server, "DELETE", "v1/sys/auth/aws"),
    ended: ({ ofLogins }) => ofLogins[0],
  },
];
/** The clean-ups that are measured under `npm run dev`, whose installation is small. */
const DEV_CLEAN_UPS = CLEAN_UPS.slice(1, 4);

/** Measures look-ups during each kind of clean-up of a large installation. */
export async function measureCleanUps(bench: Bench): Promise<CaseFigures> {
  const kept = await bench.forest();
  const rows: Row[] = [];
  for (const cleanUp of CLEAN_UPS) rows.push(await measureOnCopy(bench, kept, cleanUp));
  return figuresOf(rows);
}

function figuresOf(rows: readonly Row[]): CaseFigures {
  const targets = rows.map((row) => ({
    what: `${row["clean-up"]}, ${row.server}: p99 of look-ups as a ratio to before`,
    got: Number(row["p99 beside"]) / Number(row["p99 before"]),
    atMost: MAX_P99_RATIO,
  }));
  return { tables: [rows], targets };
}

/** Measures one clean-up on a copy of the installation, because its work may outlast the measurement. */
async function measureOnCopy(
  bench: Bench,
  { data, secrets, forest }: LargeInstallation,
  cleanUp: CleanUp,
): Promise<Row> {
  const copy = join(bench.directory, "copy");
  cpSync(data, copy, { recursive: true });
  // Flush now: writeback of the copy would otherwise compete with the server for the disk.
  execFileSync("sync", ["-f", copy]);
  const server = await ServeProcess.start(copy, secrets);
  try {
    return await measureBeside(bench, "serve", server, forest, cleanUp);
  } finally {
    await server.stop();
    rmSync(copy, { recursive: true });
  }
}

/** Measures look-ups during clean-ups under `npm run dev`. */
export async function measureDevCleanUps(bench: Bench): Promise<CaseFigures> {
  const server = await ServeProcess.start(join(bench.directory, "dev"), bench.secrets, { script: "dev" });
  try {
    bench.say("creating tokens under npm run dev");
    const forest = await plantThroughApi(server, DEV_SHAPE);
    const rows: Row[] = [];
    for (const cleanUp of DEV_CLEAN_UPS) {
      await settle(server);
      rows.push(await measureBeside(bench, "dev", server, forest, cleanUp));
    }
    return figuresOf(rows);
  } finally {
    await server.stop();
  }
}

/** Waits until the background work of the previous clean-up has ended. */
async function settle(server: ServeProcess): Promise<void> {
  let left = Number.NaN;
  for (let round = 0; round < SETTLE_ROUNDS; round++) {
    const now = await countTokens(server);
    if (now === left) return;
    left = now;
    await pause(SETTLE_MS);
  }
}

async function measureBeside(
  bench: Bench,
  name: keyof typeof RATES,
  server: ServeProcess,
  forest: Forest,
  { name: what, begin, ended }: CleanUp,
): Promise<Row> {
  bench.say(`${what}, on npm run ${name}`);
  const others: string[] = [];
  while (others.length < WATCHED_TREES) others.push((await makeToken(server, "create-orphan", { ttl: "24h" })).token);
  const memory = () => server.usage().worker.residentBytes / MIB;
  const lookUp = (seconds: number) => lookUpAtRate(server.url, others, RATES[name], seconds);
  await lookUp(2);
  const tokens = await countTokens(server);
  const before = await lookUp(BEFORE_SECONDS);
  const memoryBefore = memory();
  const began = performance.now();
  await begin(server, forest);
  const answerMs = performance.now() - began;
  if (ended !== undefined) {
    const { status } = await send({ url: server.url, token: ended(forest) ?? "" }, "GET", "v1/auth/token/lookup-self");
    if (status !== 403) throw new Error(`${what}: the look-up of a revoked token was answered with ${status}`);
  }
  const beside = await lookUp(BESIDE_SECONDS);
  return {
    "clean-up": what,
    server: name,
    tokens,
    "answered after ms": answerMs,
    ...named("before", before),
    ...named("beside", beside),
    "tokens removed": tokens - (await countTokens(server)),
    "MiB before": memoryBefore,
    "MiB after": memory(),
  };
}

function named(when: "before" | "beside", { p50, p99, longest, failed }: Waits): Row {
  return {
    [`p50 ${when}`]: p50,
    [`p99 ${when}`]: p99,
    [`longest ${when}`]: longest,
    ...(failed > 0 && { [`failed ${when}`]: failed }),
  };
}

const revoke = (server: ServeProcess, token: string) => ask(server, "POST", "v1/auth/token/revoke", { token });

/** Number of service tokens in the inventory. */
async function countTokens(server: ServeProcess): Promise<number> {
  // Listing applies pending inventory updates; reading the counters does not.
  await ask(server, "GET", "v1/auth/token/accessors?list=true&limit=1");
  const body = await ask(server, "GET", "v1/sys/internal/counters/tokens");
  return Number(member(body, "data", "counters", "service_tokens", "total"));
}
