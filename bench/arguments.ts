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
  "cluster",
] as const;

export type CaseName = (typeof CASES)[number];

export const HELP = `Usage: npm run bench -- [options]

Measures latency, throughput and CPU time per request of Grove under npm run serve. All cases together take up to
40 minutes.

  --only LIST       cases, separated by commas (default all):
                    ${CASES.join(", ")}
  --rounds N        repetitions of each measurement (default 3)
  --seconds S       duration of one measurement in seconds (default 2)
  --load-seconds S  duration of the mixed load in seconds (default 300)
  --tokens LIST     sizes of large installations in tokens (default 100000,1000000): incident runs with each size,
                    console with the first and clean-ups with the last
  --quick           smoke test: 1 round of 1 s, 2000 tokens, 10 s of mixed load
  --against URL     also runs operations and load on another server with the same API;
                    the environment variable AGAINST_TOKEN must contain a root token of that server
  --pid PID         process ID of that server, to read its CPU time and memory
  --audited URL     the same server again, with a file audit device: operations runs on it too, and the targets are
                    relative to it, because Grove always writes audit lines; same root token
  --audited-pid PID
                    process ID of that server
  --before DIR      a checkout of an earlier commit with its packages installed; operations runs on it too
  --dir DIR         parent directory for the servers' data (default: the system's temporary directory)
  --write           stores the figures of each case in docs/performance/figures.json and figures.md when the case ends
  --help            prints this text
`;

/** A server that runs already. */
export interface RunningServer {
  readonly url: string;
  readonly pid: number;
}

/** The parsed command line. */
export interface BenchCommand {
  readonly cases: readonly CaseName[];
  readonly rounds: number;
  readonly seconds: number;
  readonly loadSeconds: number;
  readonly tokens: readonly number[];
  readonly against: RunningServer | null;
  /** The same server with an audit device. */
  readonly audited: RunningServer | null;
  /** A checkout of an earlier commit; undefined for none. */
  readonly before: string | undefined;
  /** Parent directory for the servers' data; undefined for the system's temporary directory. */
  readonly directory: string | undefined;
  readonly write: boolean;
  /** The options that affect the figures, for the report. */
  readonly options: string;
}

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
    audited: { type: "string" },
    "audited-pid": { type: "string" },
    before: { type: "string" },
    dir: { type: "string" },
    write: { type: "boolean", default: false },
  });
  if (!flags.ok) return flags;
  const { values } = flags.value;
  const { only, quick, before, dir, write } = values;
  const asked = only.split(",");
  const unknown = asked.find((name) => !CASES.some((known) => known === name));
  if (unknown !== undefined) return err(`--only: unknown case "${unknown}"; the cases are ${CASES.join(", ")}`);
  const numbers = {
    rounds: Number(values.rounds ?? (quick ? 1 : 3)),
    seconds: Number(values.seconds ?? (quick ? 1 : 2)),
    loadSeconds: Number(values["load-seconds"] ?? (quick ? 10 : 300)),
  };
  const wrong = Object.entries(numbers).find(([, value]) => !(Number.isInteger(value) && value >= 1));
  if (wrong) return err(`--${wrong[0].replace("loadS", "load-s")} takes an integer of at least 1`);
  const tokens = (values.tokens ?? (quick ? "2000" : "100000,1000000")).split(",").map(Number);
  if (!tokens.every((count) => Number.isInteger(count) && count >= 2000))
    return err("--tokens takes integers of at least 2000");
  const against = runningServer("against", values.against, "pid", values.pid);
  if (!against.ok) return against;
  const audited = runningServer("audited", values.audited, "audited-pid", values["audited-pid"]);
  if (!audited.ok) return audited;
  if (write && quick) return err("--write can't be used with --quick: its figures are not representative");
  return ok({
    cases: CASES.filter((name) => asked.includes(name)),
    ...numbers,
    tokens,
    against: against.value,
    audited: audited.value,
    before,
    directory: dir,
    write,
    options: `--rounds ${numbers.rounds} --seconds ${numbers.seconds} --load-seconds ${numbers.loadSeconds} --tokens ${tokens.join()}`,
  });
}

/** Reads the pair of options that names a server. */
function runningServer(
  option: string,
  url: string | undefined,
  pidOption: string,
  pid: string | undefined,
): Result<RunningServer | null, NotRun> {
  if ((url === undefined) !== (pid === undefined))
    return err(`--${option} URL and --${pidOption} PID must be used together`);
  if (url === undefined) return ok(null);
  if (!/^http:\/\/[^/]+$/.test(url)) return err(`--${option} takes http://HOST:PORT`);
  if (!/^[1-9]\d{0,9}$/.test(pid ?? "")) return err(`--${pidOption} takes a process ID, not "${pid}"`);
  return ok({ url, pid: Number(pid) });
}
