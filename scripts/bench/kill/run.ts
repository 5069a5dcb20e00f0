import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Access, makeToken } from "../servers/call.ts";
import { freePort } from "../servers/gateway.ts";
import { findBroken } from "./check.ts";
import { Ledger, type LedgerToken } from "./ledger.ts";
import { ServeProcess, type Victim } from "./server.ts";
import { type Kept, USES, Writer } from "./writer.ts";

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
  readonly tokens: number;
  readonly answeredNumbers: number;
  /** Broken promises, in words; empty when there are none. */
  readonly broken: readonly string[];
}

const WRITERS = 8;
const VICTIMS: readonly Victim[] = ["workerd", "serve", "both"];
/** A kill comes at a random moment in this many ms of writing. */
const MAX_WRITING_MS = 1_500;
/** Older tokens that are asked for again in each round; all of them once more at the end. */
const OLDER_SAMPLE = 100;

/** Starts, writes, kills and starts again; after every start everything that was answered must still be so. */
export async function runKills(options: KillOptions): Promise<KillResult> {
  const random = generator(options.seed);
  const root = resolve(options.directory ?? tmpdir());
  mkdirSync(root, { recursive: true });
  const data = mkdtempSync(join(root, "grove-kill-"));
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
  const access: Access = { place: server.place, token: env.GROVE_DEV_ROOT_TOKEN };
  const kept = new Map<string, Kept>();
  const writers: Writer[] = [];
  for (let number = 0; number < WRITERS; number++) {
    const name = `writer-${number}`;
    const own = await keptTokens(access, ledger);
    kept.set(name, own);
    writers.push(new Writer(name, own, ledger, random));
  }

  let rounds = 0;
  while (rounds < options.rounds && performance.now() < until && broken.length === 0) {
    const before = ledger.tokens.length;
    let stopped = false;
    const writing = Promise.all(writers.map((writer) => writer.write(access, () => stopped)));
    await pause(random() * MAX_WRITING_MS);
    const victim = VICTIMS[rounds % VICTIMS.length] ?? "both";
    await server.kill(victim);
    stopped = true;
    await writing;
    server = await ServeProcess.start(data, port, env);
    rounds++;
    const fresh = ledger.tokens.slice(before);
    broken.push(...(await findBroken(access, ledger, [...sample(ledger.tokens, random), ...fresh], kept)));
    options.say(`round ${rounds} of ${options.rounds}: killed ${victim} after ${fresh.length} new tokens`);
  }
  broken.push(...(await findBroken(access, ledger, ledger.tokens, kept)));
  await server.stop();
  const answeredNumbers = [...ledger.numbers.values()].reduce((sum, { answered }) => sum + answered, 0);
  return { rounds, tokens: ledger.tokens.length, answeredNumbers, broken };
}

async function keptTokens(access: Access, ledger: Ledger): Promise<Kept> {
  const long = { ttl: "700h", policies: ["root"] };
  const maker = await makeToken(access, "create-orphan", long);
  const counted = await makeToken(access, "create-orphan", { ...long, num_uses: USES });
  const renewed = await makeToken(access, "create-orphan", long);
  return { maker: ledger.created(maker.token, null), counted: counted.token, renewed: renewed.token };
}

function sample(tokens: readonly LedgerToken[], random: () => number): LedgerToken[] {
  return Array.from({ length: Math.min(OLDER_SAMPLE, tokens.length) }, () => {
    return tokens[Math.floor(random() * tokens.length)];
  }).filter((token) => token !== undefined);
}

/** Numbers from 0 to 1 that a seed repeats (a linear congruential generator: what is drawn need not be secret). */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
