import { readFlags } from "../gateway/flags.ts";
import { runKills } from "./bench/kill/run.ts";

const HELP = `Usage: npm run bench:kill -- [options]

Kills npm run serve (kill -9) at random moments of writes of all kinds (tokens, leases, logins, teams, policies, wrapped
answers, tidy), again and again, and looks after each start whether everything that was answered is still so. At the end
every lease that has ended must have been told to its engine, and the databases must be whole.

  --rounds N   kills (default 50)
  --minutes M  no further kill after this (default 10); the end takes a few more
  --seed N     repeats the same random choices (default: by the clock; printed)
  --dir DIR    where the data are kept (default the system's temporary directory)
  --help       this text

A kill of the processes is not a power cut: what the operating system has taken over reaches the disk.
`;

const say = (line: string): void => console.error(`bench:kill: ${line}`);

async function main(): Promise<number> {
  const flags = readFlags(process.argv.slice(2), {
    rounds: { type: "string", default: "50" },
    minutes: { type: "string", default: "10" },
    seed: { type: "string" },
    dir: { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  if (!flags.ok) {
    say(flags.error);
    return 2;
  }
  if (flags.value.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const rounds = Number(flags.value.rounds);
  const minutes = Number(flags.value.minutes);
  const seed = Number(flags.value.seed ?? Date.now() % 1_000_000);
  if (!(rounds >= 1) || !(minutes > 0) || !Number.isInteger(seed)) {
    say("--rounds, --minutes and --seed take numbers");
    return 2;
  }
  say(`seed ${seed}`);
  const result = await runKills({ rounds, minutes, seed, directory: flags.value.dir ?? null, say });
  const alike = Object.entries(Object.groupBy(result.broken, (line) => line));
  for (const [line, lines] of alike) say(`BROKEN: ${line} (${lines?.length} times)`);
  const { rounds: done, made, changes, told, dangling, takenAgain, broken } = result;
  const verdict = broken.length === 0 ? "no answer was lost" : `${broken.length} answers were lost`;
  const things = Object.entries(made).map(([kind, count]) => `${count} of kind "${kind}"`);
  process.stdout.write(`${done} kills: ${verdict}\n`);
  process.stdout.write(`made: ${things.join(", ")}; ${changes} changes of other things\n`);
  process.stdout.write(`${takenAgain} times the tree of a token that had ended was taken again\n`);
  process.stdout.write(`told of ${told} revocations of leases; tidy had ${dangling} accessors of no token to remove\n`);
  return broken.length === 0 ? 0 : 1;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
process.exit(await main());
