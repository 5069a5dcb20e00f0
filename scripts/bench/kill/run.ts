import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../servers/gateway.ts";
import { type KillTarget, ServeProcess } from "../servers/serve.ts";
import { USES } from "./actions/numbers.ts";
import { PASSING_POLICY } from "./actions/tokens.ts";
import { findBroken } from "./check.ts";
import { type Client, send, text } from "./client.ts";
import { danglingAccessors } from "./damage.ts";
import { findDamage } from "./databases.ts";
import { startFakeEnvironment } from "./fake-environment.ts";
import { findWrongLists, waitForPromises } from "./finish.ts";
import { installationOn } from "./installation.ts";
import { type Entry, Ledger, treesTakenAgain } from "./ledger.ts";
import { write } from "./writer.ts";
import { type Kept, WriterClient } from "./writer-client.ts";

/** How to run it. */
export interface KillOptions {
  readonly rounds: number;
  /** No round begins after this. */
  readonly minutes: number;
  readonly seed: number;
  readonly directory: string | null;
  readonly say: (line: string) => void;
}

/** What came of it. */
export interface KillResult {
  readonly rounds: number;
  /** Things that were made, by their kind. */
  readonly made: Readonly<Record<string, number>>;
  /** Answered writes of what only changes. */
  readonly changes: number;
  /** Revocations that the engine was told of. */
  readonly told: number;
  /** Entries without a token that tidy was given. */
  readonly dangling: number;
  /** Creations that took the tree of a token that had ended: nothing of that token may be good in it. */
  readonly takenAgain: number;
  /** Broken promises, in words; empty when there are none. */
  readonly broken: readonly string[];
}

const WRITERS = 8;
const FIRST_TOKENS = 200;
const VICTIMS: readonly KillTarget[] = ["workerd", "serve", "both"];
/** A kill comes at a random moment in this many ms of writing. */
const MAX_WRITING_MS = 3_000;
/** Older entries that are asked for again in each round; all of them once more at the end. */
const OLDER_SAMPLE = 200;
/** Dangling entries that are added for tidy to remove, and the rounds between two additions: tidy works during most of the kills. */
const DANGLING = 10_000;
const DANGLING_EVERY = 6;

/** Starts, writes, kills and starts again; after every start everything that was answered must still be so. */
export async function runKills(options: KillOptions): Promise<KillResult> {
  const random = generator(options.seed);
  const above = resolve(options.directory ?? tmpdir());
  mkdirSync(above, { recursive: true });
  const data = mkdtempSync(join(above, "grove-kill-"));
  process.on("exit", () => rmSync(data, { recursive: true, force: true }));
  const env = {
    GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`,
    GROVE_DEV_ROOT_TOKEN: `root-${randomBytes(12).toString("hex")}`,
  };
  const port = await freePort();
  const until = performance.now() + options.minutes * 60_000;
  const ledger = new Ledger();
  const broken: string[] = [];

  let server = await ServeProcess.start(data, port, env);
  const root: Client = { place: server.place, token: env.GROVE_DEV_ROOT_TOKEN };
  const environment = await startFakeEnvironment(root);
  const kept = new Map<string, Kept>();
  const writers: WriterClient[] = [];
  for (let number = 0; number < WRITERS; number++) {
    const name = `writer-${number}`;
    const own = await keptTokens(root, ledger);
    kept.set(name, own);
    writers.push(new WriterClient(name, { root, kept: own, environment, ledger, random }));
  }
  await fillShards(root, ledger);
  const rules = 'path "auth/token/*" { capabilities = ["create", "update", "read"] }';
  await send(root, "POST", `v1/sys/policies/acl/${PASSING_POLICY}`, { policy: rules });
  const installation = await installationOn(data);
  const dangling: string[] = [];

  let rounds = 0;
  while (rounds < options.rounds && performance.now() < until && broken.length === 0) {
    const before = ledger.entries.length;
    let stopped = false;
    const writing = Promise.all(writers.map((writer) => write(writer, () => stopped)));
    await pause(random() * MAX_WRITING_MS);
    const victim = VICTIMS[rounds % VICTIMS.length] ?? "both";
    await server.kill(victim);
    stopped = true;
    await writing;
    if (rounds % DANGLING_EVERY === 0) {
      const listed = ledger.entries.find(({ accessor }) => accessor !== "")?.accessor ?? "";
      dangling.push(...danglingAccessors(installation, data, listed, DANGLING));
    }
    server = await ServeProcess.start(data, port, env);
    rounds++;
    const fresh = ledger.entries.slice(before);
    broken.push(...(await findBroken(root, ledger, [...sample(ledger.entries, random), ...fresh], kept)));
    broken.push(...ledger.surprises.splice(0));
    options.say(`round ${rounds} of ${options.rounds}: killed ${victim} after ${fresh.length} new things`);
  }

  options.say("waiting for everything that goes on after its answer");
  const finish = { root, ledger, environment, dangling };
  broken.push(...(await waitForPromises(finish)));
  broken.push(...(await findBroken(root, ledger, ledger.entries, kept)));
  broken.push(...(await findWrongLists(finish)));
  await server.stop();
  broken.push(...findDamage(installation, data));
  await environment.close();
  const made = Object.groupBy(ledger.entries, ({ kind }) => kind);
  return {
    rounds,
    made: Object.fromEntries(Object.entries(made).map(([kind, entries]) => [kind, entries?.length ?? 0])),
    changes: [...ledger.numbers.values()].reduce((sum, { answered }) => sum + answered, 0),
    told: environment.engine.told.size,
    dangling: dangling.length,
    takenAgain: treesTakenAgain(ledger.entries),
    broken,
  };
}

/** Makes so many tokens that each part of the list of accessors has some. */
async function fillShards(root: Client, ledger: Ledger): Promise<void> {
  for (let number = 0; number < FIRST_TOKENS; number++) {
    const { body } = await send(root, "POST", "v1/auth/token/create", { ttl: "24h" });
    ledger.created("token", text(body, "auth", "client_token"), null, text(body, "auth", "accessor"));
  }
}

/** Makes what one writer keeps for the whole run: three tokens. */
async function keptTokens(root: Client, ledger: Ledger): Promise<Kept> {
  const long = { ttl: "700h", policies: ["root"] };
  const make = async (fields: Readonly<Record<string, unknown>>) => {
    const { body } = await send(root, "POST", "v1/auth/token/create-orphan", fields);
    return { token: text(body, "auth", "client_token"), accessor: text(body, "auth", "accessor") };
  };
  const maker = await make(long);
  return {
    maker: ledger.created("token", maker.token, null, maker.accessor),
    counted: (await make({ ...long, num_uses: USES })).token,
    renewed: (await make(long)).token,
  };
}

function sample(entries: readonly Entry[], random: () => number): Entry[] {
  return Array.from({ length: Math.min(OLDER_SAMPLE, entries.length) }, () => {
    return entries[Math.floor(random() * entries.length)];
  }).filter((entry) => entry !== undefined);
}

/** Numbers from 0 to 1 that a seed repeats (Mulberry32: what is drawn need not be secret). */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
