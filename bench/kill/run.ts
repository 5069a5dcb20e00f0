import { setTimeout as pause } from "node:timers/promises";
import { type Client, makeToken } from "../servers/client.ts";
import { newSecrets, passingDirectory, ServeProcess } from "../servers/serve.ts";
import { LEASE_ACTIONS } from "./actions/leases.ts";
import { LOGIN_ACTIONS } from "./actions/logins.ts";
import { NUMBER_ACTIONS, USES } from "./actions/numbers.ts";
import { OTHER_ACTIONS } from "./actions/others.ts";
import { TEAM_ACTIONS } from "./actions/teams.ts";
import { TOKEN_ACTIONS } from "./actions/tokens.ts";
import { findBroken } from "./check.ts";
import { Choices } from "./choices.ts";
import { findDamage } from "./damage.ts";
import { startEnvironment } from "./environment.ts";
import { findWrongLists, waitForPromises } from "./finish.ts";
import { type Entry, Ledger } from "./ledger.ts";
import { type Action, type Kept, Writer } from "./writer.ts";

/** How to run it. */
export interface KillOptions {
  readonly rounds: number;
  /** No round begins after this. */
  readonly minutes: number;
  readonly seed: string;
  readonly directory: string | undefined;
  readonly say: (line: string) => void;
}

/** What came of it. */
export interface KillResult {
  readonly rounds: number;
  readonly ledger: Ledger;
  /** Leases whose revocation the engine was asked for. */
  readonly revocations: number;
  /** A sentence for each broken promise. */
  readonly broken: readonly string[];
}

const ACTIONS: readonly [Action, ...Action[]] = [
  ...TOKEN_ACTIONS,
  ...LEASE_ACTIONS,
  ...LOGIN_ACTIONS,
  ...TEAM_ACTIONS,
  ...OTHER_ACTIONS,
  ...NUMBER_ACTIONS,
];
const WRITERS = 8;
/** Tokens that are made first, so that each part of the list of accessors has some. */
const FIRST_TOKENS = 200;
/** A kill comes at a random moment in this many ms of writing. */
const MAX_WRITING_MS = 3_000;
/** Older entries that are asked for again in each round; all of them once more at the end. */
const OLDER_SAMPLE = 200;

/** Starts, writes, kills and starts again; after every start everything that was answered must still be so. */
export async function runKills({ seed, say, ...options }: KillOptions): Promise<KillResult> {
  const choices = new Choices(seed);
  const data = passingDirectory("kill", options.directory);
  const secrets = newSecrets();
  const until = performance.now() + options.minutes * 60_000;
  const ledger = new Ledger();
  const broken: string[] = [];

  let server = await ServeProcess.start(data, secrets);
  // Every server listens where the first one did.
  const root: Client = { url: server.url, token: server.token };
  const flags = ["--listen", root.url.replace("http://", "")];
  const environment = await startEnvironment(root);
  const kept = new Map<string, Kept>();
  const writers: Writer[] = [];
  for (let number = 0; number < WRITERS; number++) {
    const name = `writer-${number}`;
    const own = await keptTokens(root, ledger);
    kept.set(name, own);
    writers.push(new Writer(name, { root, kept: own, environment, ledger, choices }));
  }
  for (let number = 0; number < FIRST_TOKENS; number++) {
    const { token, accessor } = await makeToken(root, "create", { ttl: "24h" });
    ledger.created("token", token, null, accessor);
  }

  let rounds = 0;
  while (rounds < options.rounds && performance.now() < until && broken.length === 0) {
    const before = ledger.entries.length;
    let stopped = false;
    const writing = Promise.all(writers.map((writer) => writer.write(ACTIONS, () => stopped)));
    await pause(choices.below(MAX_WRITING_MS));
    const victim = choices.pick(["workerd", "serve", "both"]);
    await server.kill(victim);
    stopped = true;
    await writing;
    server = await ServeProcess.start(data, secrets, { flags });
    rounds++;
    const fresh = ledger.entries.slice(before);
    broken.push(...(await findBroken(root, ledger, [...sample(ledger.entries, choices), ...fresh], kept)));
    broken.push(...ledger.surprises.splice(0));
    say(`round ${rounds} of ${options.rounds}: killed ${victim} after ${fresh.length} new things`);
  }

  say("waiting for everything that goes on after its answer");
  const finish = { root, ledger, environment };
  broken.push(...(await waitForPromises(finish)));
  broken.push(...(await findBroken(root, ledger, ledger.entries, kept)));
  broken.push(...(await findWrongLists(finish)));
  await server.stop();
  broken.push(...findDamage(data));
  await environment.stop();
  return { rounds, ledger, revocations: environment.engine.asked.size, broken };
}

/** Makes what one writer keeps for the whole run: three tokens. */
async function keptTokens(root: Client, ledger: Ledger): Promise<Kept> {
  const long = { ttl: "700h", policies: ["root"] };
  const maker = await makeToken(root, "create-orphan", long);
  return {
    maker: ledger.created("token", maker.token, null, maker.accessor),
    counted: (await makeToken(root, "create-orphan", { ...long, num_uses: USES })).token,
    renewed: (await makeToken(root, "create-orphan", long)).token,
  };
}

function sample(entries: readonly Entry[], choices: Choices): Entry[] {
  const places = Array.from({ length: Math.min(OLDER_SAMPLE, entries.length) }, () => choices.below(entries.length));
  return places.flatMap((at) => entries[at] ?? []);
}
