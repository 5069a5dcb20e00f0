import { type NotRun, readWords } from "../scripts/local/command-line.ts";
import { err, ok, type Result } from "../src/base/result.ts";

/** The cases, in the order in which they run. */
export const CASES = [
  "operations",
  "after-creations",
  "load",
  "console",
  "incident",
  "clean-ups",
  "dev-clean-ups",
] as const;

export type CaseName = (typeof CASES)[number];

export const HELP = `Usage: npm run bench -- [options]

Measures Grove as npm run serve runs it, with the CPU of its processes for each request. All cases take at most 40 minutes.

  --only LIST       cases, separated by commas (default all):
                    ${CASES.join(", ")}
  --rounds N        turns of each measurement (default 3)
  --seconds S       length of one measurement (default 2)
  --load-seconds S  length of the mixed load (default 300)
  --tokens LIST     tokens of large installations (default 100000,1000000): incident is measured with each, console
                    with the first and clean-ups with the last
  --quick           1 round of a second, 2000 tokens, a short load: to see that it works
  --against URL     measures operations and load on another server with the same API too;
                    the variable AGAINST_TOKEN has a root token of it
  --pid PID         the process of that server, for its CPU and memory
  --dir DIR         where the servers keep their data (default the system's temporary directory)
  --write           keeps the figures of each case, as soon as it is over, in docs/performance/figures.json and
                    docs/performance.md
  --help            this text
`;

/** What the command line asks for. */
export interface BenchCommand {
  readonly cases: readonly CaseName[];
  readonly rounds: number;
  readonly seconds: number;
  readonly loadSeconds: number;
  readonly tokens: readonly number[];
  readonly against: { readonly url: string; readonly pid: number } | null;
  /** Where the data are kept; undefined: in the system's temporary directory. */
  readonly directory: string | undefined;
  readonly write: boolean;
  /** The options that change what is measured. */
  readonly options: string;
}

/** Reads the command line. */
export function parseBenchArguments(argv: readonly string[]): Result<BenchCommand, NotRun> {
  const flags = readWords(argv, {
    only: { type: "string", default: CASES.join(",") },
    rounds: { type: "string" },
    seconds: { type: "string" },
    "load-seconds": { type: "string" },
    tokens: { type: "string" },
    quick: { type: "boolean", default: false },
    against: { type: "string" },
    pid: { type: "string" },
    dir: { type: "string" },
    write: { type: "boolean", default: false },
  });
  if (!flags.ok) return flags;
  const { values } = flags.value;
  const { only, quick, against, pid, dir, write } = values;
  const asked = only.split(",");
  const unknown = asked.find((name) => !CASES.some((known) => known === name));
  if (unknown !== undefined) return err(`--only does not know "${unknown}"; it knows ${CASES.join(", ")}`);
  const numbers = {
    rounds: Number(values.rounds ?? (quick ? 1 : 3)),
    seconds: Number(values.seconds ?? (quick ? 1 : 2)),
    loadSeconds: Number(values["load-seconds"] ?? (quick ? 10 : 300)),
  };
  const wrong = Object.entries(numbers).find(([, value]) => !(Number.isInteger(value) && value >= 1));
  if (wrong) return err(`--${wrong[0].replace("loadS", "load-s")} takes a whole number from 1`);
  const tokens = (values.tokens ?? (quick ? "2000" : "100000,1000000")).split(",").map(Number);
  if (!tokens.every((count) => Number.isInteger(count) && count >= 2000))
    return err("--tokens takes numbers from 2000");
  if ((against === undefined) !== (pid === undefined)) return err("--against URL and --pid PID go together");
  if (against !== undefined && !/^http:\/\/[^/]+$/.test(against)) return err("--against takes http://HOST:PORT");
  if (pid !== undefined && !/^[1-9]\d{0,9}$/.test(pid)) return err(`--pid takes the number of a process, not "${pid}"`);
  if (write && quick) return err("--write takes figures of whole runs, not of --quick");
  return ok({
    cases: CASES.filter((name) => asked.includes(name)),
    ...numbers,
    tokens,
    against: against === undefined ? null : { url: against, pid: Number(pid) },
    directory: dir,
    write,
    options: `--rounds ${numbers.rounds} --seconds ${numbers.seconds} --load-seconds ${numbers.loadSeconds} --tokens ${tokens.join()}`,
  });
}
