import { execFileSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inPool } from "../../src/base/parallel.ts";
import { type Bench, type CaseFigures, MIB, type Row } from "../case.ts";
import { lookUpAtRate, type Waits } from "../open-loop.ts";
import type { Forest } from "../seed/forest.ts";
import { ask, type Client, makeToken, member, send } from "../servers/client.ts";
import { ServeProcess } from "../servers/serve.ts";

/** Work that continues after its answer. */
interface CleanUp {
  readonly name: string;
  readonly begin: (server: Client, forest: Forest) => Promise<unknown>;
  /** A token that must be refused right after the answer. */
  readonly ended?: (forest: Forest) => string | undefined;
}

/** Trees of one token each that no clean-up ends; their tokens are looked up. */
const OTHERS = 16;
/** Look-ups a second: a small part of what the server can answer. */
const RATE = 150;
/** Length of the measurement before a clean-up and beside it (s). */
const BEFORE_SECONDS = 10;
const BESIDE_SECONDS = 15;
/** Small trees that are revoked one by one, and how many at a time. */
const SMALL_TREES = 500;
const PARALLEL = 8;
/** Target: p99 of look-ups beside a clean-up, as a ratio to before. */
const SLOWER = 2;

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

/** Measures look-ups beside each kind of clean-up of a large installation. */
export async function measureCleanUps(bench: Bench): Promise<CaseFigures> {
  const rows: Row[] = [];
  for (const cleanUp of CLEAN_UPS) rows.push(await measureOnCopy(bench, cleanUp));
  const targets = rows.map((row) => ({
    what: `${row["clean-up"]}: p99 of look-ups as a ratio to before`,
    got: Number(row["p99 beside"]) / Number(row["p99 before"]),
    atMost: SLOWER,
  }));
  return { tables: [rows], targets };
}

/** Each clean-up has a copy of the installation, because it may last longer than the measurement. */
async function measureOnCopy(bench: Bench, cleanUp: CleanUp): Promise<Row> {
  const { data, secrets, forest } = await bench.forest();
  const copy = join(bench.directory, "copy");
  cpSync(data, copy, { recursive: true });
  // Otherwise the system writes the copy to the disk during the measurement.
  execFileSync("sync", ["-f", copy]);
  const server = await ServeProcess.start(copy, secrets);
  try {
    bench.say(cleanUp.name);
    return await measureBeside(server, forest, cleanUp);
  } finally {
    await server.stop();
    rmSync(copy, { recursive: true });
  }
}

async function measureBeside(server: ServeProcess, forest: Forest, { name, begin, ended }: CleanUp): Promise<Row> {
  const others: string[] = [];
  while (others.length < OTHERS) others.push((await makeToken(server, "create-orphan", { ttl: "24h" })).token);
  const memory = () => server.usage().worker.residentBytes / MIB;
  const lookUp = (seconds: number) => lookUpAtRate(server.url, others, RATE, seconds);
  await lookUp(2);
  const tokens = await countTokens(server);
  const before = await lookUp(BEFORE_SECONDS);
  const memoryBefore = memory();
  const began = performance.now();
  await begin(server, forest);
  const answerMs = performance.now() - began;
  if (ended !== undefined) {
    const { status } = await send({ url: server.url, token: ended(forest) ?? "" }, "GET", "v1/auth/token/lookup-self");
    if (status !== 403) throw new Error(`${name}: an ended token was answered with ${status}`);
  }
  const beside = await lookUp(BESIDE_SECONDS);
  return {
    "clean-up": name,
    tokens,
    "answered after ms": answerMs,
    ...columnsOf("before", before),
    ...columnsOf("beside", beside),
    "tokens removed": tokens - (await countTokens(server)),
    "MiB before": memoryBefore,
    "MiB after": memory(),
  };
}

function columnsOf(when: "before" | "beside", { p50, p99, longest, failed }: Waits): Row {
  return {
    [`p50 ${when}`]: p50,
    [`p99 ${when}`]: p99,
    [`longest ${when}`]: longest,
    ...(failed > 0 && { [`failed ${when}`]: failed }),
  };
}

const revoke = (server: Client, token: string) => ask(server, "POST", "v1/auth/token/revoke", { token });

/** Number of service tokens. The read of the list before it makes the counter exact. */
async function countTokens(server: Client): Promise<number> {
  await ask(server, "GET", "v1/auth/token/accessors?list=true&limit=1");
  const body = await ask(server, "GET", "v1/sys/internal/counters/tokens");
  return Number(member(body, "data", "counters", "service_tokens", "total"));
}
