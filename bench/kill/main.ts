import { setTimeout as pause } from "node:timers/promises";
import { type NotRun, readWords, runCommand } from "../../scripts/local/command-line.ts";
import { err, ok, type Result } from "../../src/base/result.ts";
import { type Client, makeToken } from "../servers/client.ts";
import { newSecrets, ServeProcess, temporaryDirectory } from "../servers/serve.ts";
import { NUMBER_ACTIONS, USES } from "./actions/numbers.ts";
import { LEASE_ACTIONS, LOGIN_ACTIONS, OTHER_ACTIONS, TEAM_ACTIONS } from "./actions/others.ts";
import { TOKEN_ACTIONS } from "./actions/tokens.ts";
import { findUnrecorded } from "./changes.ts";
import { findBroken } from "./check.ts";
import { Clients } from "./clients/clients.ts";
import { reportHistory } from "./clients/report.ts";
import { killCluster } from "./cluster/kill.ts";
import { findDamage } from "./damage.ts";
import { killDev } from "./dev.ts";
import { startEnvironment } from "./environment.ts";
import { findWrongLists, waitForPromises } from "./finish.ts";
import { type Entry, Ledger } from "./ledger.ts";
import { type Action, Choices, Writer, type WriterTokens } from "./writer.ts";

const HELP = `Usage: npm run bench:kill -- [options]

Kills the processes of npm run serve with SIGKILL at random times during writes (tokens, leases, logins, teams,
policies, wrapped answers, tidy). Restarts the server after each kill and checks that every answered write is still
stored. At the end, checks that the revocation of every ended lease was sent to its secrets engine, that every answered
change has its record in the audit store, and that no database is damaged. Other clients go on all the time; every request of theirs and its answer go into a history, and a checker
looks in it for what no correct server can have answered.

  --rounds N   number of kills (default 50)
  --minutes M  time limit for starting another round (default 10); the final checks take a few minutes more
  --seed TEXT  seed of the random choices, to repeat a run (default: derived from the clock, and printed)
  --dir DIR    parent directory for the data (default: the system's temporary directory)
  --cluster    instead: three nodes over a bucket, with faults of nodes, of their clocks, of the bucket and of the network
               between them, and the history alone
  --dev        instead: npm run dev, and the history alone
  --help       prints this text

This does not simulate a power failure: data that the operating system has accepted still reach the disk.
`;

/** The parsed command line. */
interface KillCommand {
  readonly rounds: number;
  /** No round starts after this time (minutes). */
  readonly minutes: number;
  readonly seed: string;
  readonly directory: string | undefined;
  readonly cluster: boolean;
  readonly dev: boolean;
}

const ACTIONS: readonly [Action, ...Action[]] = [
  ...TOKEN_ACTIONS,
  ...LEASE_ACTIONS,
  ...LOGIN_ACTIONS,
  ...TEAM_ACTIONS,
  ...OTHER_ACTIONS,
  ...NUMBER_ACTIONS,
];
/** Concurrent writers. */
const WRITERS = 8;
/** Tokens created before the first round, so that each accessor shard lists some. */
const FIRST_TOKENS = 200;
/** Longest time from the start of writing to the kill (ms). */
const MAX_WRITING_MS = 3_000;
/** Older entries that each round checks again. The final check covers all entries. */
const OLDER_SAMPLE = 200;

const say = (line: string): void => console.error(`bench:kill: ${line}`);

function parseKillArguments(argv: readonly string[]): Result<KillCommand, NotRun> {
  const flags = readWords(argv, {
    rounds: { type: "string", default: "50" },
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    dir: { type: "string" },
    cluster: { type: "boolean", default: false },
    dev: { type: "boolean", default: false },
  });
  if (!flags.ok) return flags;
  const { seed, cluster, dev, dir: directory } = flags.value.values;
  if (cluster && dev) return err("--cluster and --dev exclude each other");
  const [rounds, minutes] = [Number(flags.value.values.rounds), Number(flags.value.values.minutes)];
  if (!(rounds >= 1) || !(minutes > 0)) return err("--rounds takes a number of at least 1, --minutes a number above 0");
  return ok({ rounds, minutes, seed, directory, cluster, dev });
}

/** Counts equal names. */
function counted(names: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts];
}

/** Runs the rounds and the final checks. A round writes, kills the server, restarts it and checks the ledger. */
async function kill({ seed, directory, ...most }: KillCommand): Promise<number> {
  say(`seed ${seed}`);
  const choices = new Choices(seed);
  const history = { ...most, directory, choices, say };
  if (most.cluster) return killCluster(history);
  if (most.dev) return killDev(history);
  const data = temporaryDirectory("kill", directory);
  const secrets = newSecrets();
  const until = performance.now() + most.minutes * 60_000;
  const ledger = new Ledger();
  const broken: string[] = [];

  let server = await ServeProcess.start(data, secrets);
  // Restarted servers use the address of the first one.
  const root: Client = { url: server.url, token: server.token };
  const flags = ["--listen", root.url.replace("http://", "")];
  const environment = await startEnvironment(root);
  const kept = new Map<string, WriterTokens>();
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

  const clients = new Clients({ urls: () => [root.url], rootToken: root.token, mayLackWorker: true }, choices);
  const running = clients.run();

  let rounds = 0;
  while (rounds < most.rounds && performance.now() < until && broken.length === 0) {
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
    say(`round ${rounds} of ${most.rounds}: killed ${victim} after ${fresh.length} creations`);
  }

  clients.stop();
  await running;
  await clients.useAll();
  say("waiting for background work to end");
  const finish = { root, ledger, environment };
  broken.push(...(await waitForPromises(finish)));
  broken.push(...(await findBroken(root, ledger, ledger.entries, kept)));
  broken.push(...(await findWrongLists(finish)));
  broken.push(...(await findUnrecorded([root], ledger.changes)));
  await clients.recorder.checkRecords();
  await server.stop();
  broken.push(...findDamage(data));
  await environment.stop();
  const code = report(rounds, ledger, environment.engine.asked.size, broken);
  return reportHistory(clients.recorder, say) === 0 ? code : 1;
}

/**
 * Prints the result and returns the exit code.
 *
 * @param revocations number of leases whose revocation the secrets engine received.
 * @param broken a message for each difference from the ledger.
 */
function report(rounds: number, ledger: Ledger, revocations: number, broken: readonly string[]): number {
  for (const [line, count] of counted(broken)) say(`BROKEN: ${line} (${count} times)`);
  const made = counted(ledger.entries.map((entry) => entry.kind)).map(([kind, count]) => `${count} of kind "${kind}"`);
  const changes = [...ledger.numbers.values()].reduce((sum, { answered }) => sum + answered, 0);
  const verdict = broken.length === 0 ? "no answer was lost" : `${broken.length} checks failed`;
  process.stdout.write(`${rounds} kills: ${verdict}\n`);
  process.stdout.write(`${ledger.changes.size} answered changes were looked for in the audit store\n`);
  process.stdout.write(`created: ${made.join(", ")}; ${changes} updates of numbers\n`);
  process.stdout.write(`the secrets engine received revocations of ${revocations} leases\n`);
  return broken.length === 0 ? 0 : 1;
}

/** Creates the three long-lived tokens of one writer. */
async function keptTokens(root: Client, ledger: Ledger): Promise<WriterTokens> {
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

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
process.exit(await runCommand(parseKillArguments(process.argv.slice(2)), HELP, say, kill));
