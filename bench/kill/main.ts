import { type NotRun, readWords, runCommand } from "../../scripts/local/command-line.ts";
import { err, ok, type Result } from "../../src/base/result.ts";
import { type KillOptions, runKills } from "./run.ts";

const HELP = `Usage: npm run bench:kill -- [options]

Kills npm run serve (kill -9) at random moments of writes of all kinds (tokens, leases, logins, teams, policies, wrapped
answers, tidy), again and again, and looks after each start whether everything that was answered is still so. At the end
the revocation of every lease that has ended must have been sent to its engine, and the databases must be whole.

  --rounds N   kills (default 50)
  --minutes M  no further kill after this (default 10); the end takes a few more
  --seed TEXT  repeats the same random choices (default: by the clock; printed)
  --dir DIR    where the data are kept (default the system's temporary directory)
  --help       this text

A kill of the processes is not a power cut: what the operating system has taken over reaches the disk.
`;

const say = (line: string): void => console.error(`bench:kill: ${line}`);

function parseKillArguments(argv: readonly string[]): Result<KillOptions, NotRun> {
  const flags = readWords(argv, {
    rounds: { type: "string", default: "50" },
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    dir: { type: "string" },
  });
  if (!flags.ok) return flags;
  const { seed, dir: directory } = flags.value.values;
  const [rounds, minutes] = [Number(flags.value.values.rounds), Number(flags.value.values.minutes)];
  if (!(rounds >= 1) || !(minutes > 0)) return err("--rounds and --minutes take numbers");
  return ok({ rounds, minutes, seed, directory, say });
}

/** How often each name is there. */
function counted(names: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts];
}

async function kill(options: KillOptions): Promise<number> {
  say(`seed ${options.seed}`);
  const { rounds, ledger, revocations, broken } = await runKills(options);
  for (const [line, count] of counted(broken)) say(`BROKEN: ${line} (${count} times)`);
  const made = counted(ledger.entries.map((entry) => entry.kind)).map(([kind, count]) => `${count} of kind "${kind}"`);
  const changes = [...ledger.numbers.values()].reduce((sum, { answered }) => sum + answered, 0);
  const verdict = broken.length === 0 ? "no answer was lost" : `${broken.length} answers were lost`;
  process.stdout.write(`${rounds} kills: ${verdict}\n`);
  process.stdout.write(`made: ${made.join(", ")}; ${changes} changes of other things\n`);
  process.stdout.write(`${revocations} revocations of leases were sent\n`);
  return broken.length === 0 ? 0 : 1;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
process.exit(await runCommand(parseKillArguments(process.argv.slice(2)), HELP, say, kill));
