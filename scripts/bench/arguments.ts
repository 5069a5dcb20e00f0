import { parseArgs } from "node:util";
import { err, ok, type Result } from "../../src/base/result.ts";
import { OPERATIONS } from "./cases/operations.ts";
import { parsePlace } from "./load/place.ts";
import type { OtherServer } from "./servers/call.ts";
import { usageOf } from "./servers/usage.ts";

/** The parts of the bench besides the single operations. */
export const CASES = [
  "operations",
  "cascade",
  "growth",
  "load",
  "cost",
  "tidy",
  "anonymous",
  "forest",
  "ending",
  "console",
  "files",
] as const;

export const HELP = `Usage: npm run bench -- [options]

Measures Grove under workerd against a bare Worker under the same workerd, in turns.

  --only LIST          parts to run, separated by commas (default all): ${CASES.join(", ")},
                       or single operations: ${OPERATIONS.map(({ name }) => name).join(", ")}
  --rounds N           turns of each measurement (default 5)
  --seconds S          length of one measurement (default 1.5)
  --load-seconds S     length of the mixed load (default 60)
  --quick              2 rounds of half a second, small trees, a short load: to see that it works
  --against URL TOKEN  runs the operations on another server with the same API too (TOKEN: a root token of it)
  --pid PID            the process of that server, when it runs on this machine: its CPU is compared as well
  --dir DIR            where the servers keep their data (default the system's temporary directory)
  --json               prints the report as JSON
  --write              writes the parts that run into docs/performance.md, and leaves the others as they are
  --help               this text
`;

/** What the command line asks for. */
export interface BenchCommand {
  readonly kind: "run";
  readonly cases: readonly (typeof CASES)[number][];
  readonly operations: readonly string[];
  readonly rounds: number;
  readonly seconds: number;
  readonly loadSeconds: number;
  readonly quick: boolean;
  readonly against: OtherServer | null;
  readonly directory: string | null;
  readonly json: boolean;
  readonly write: boolean;
}

/** Reads the command line; the error is for the operator. */
export function parseBenchArguments(argv: readonly string[]): Result<BenchCommand | { readonly kind: "help" }, string> {
  const read = readArguments(argv);
  if (!read.ok) return read;
  const { values, positionals } = read.value;
  if (values.help) return ok({ kind: "help" });
  const quick = values.quick ?? false;
  const rounds = number(values.rounds, quick ? 2 : 5);
  const seconds = number(values.seconds, quick ? 0.5 : 1.5);
  const loadSeconds = number(values["load-seconds"], quick ? 10 : 60);
  if (!(Number.isInteger(rounds) && rounds >= 1 && rounds <= 100)) return err("--rounds takes a number from 1 to 100");
  if (!(seconds >= 0.1 && seconds <= 600)) return err("--seconds takes a number from 0.1 to 600");
  if (!(loadSeconds >= 1 && loadSeconds <= 3600)) return err("--load-seconds takes a number from 1 to 3600");
  const chosen = chooseParts(values.only);
  if (!chosen.ok) return chosen;
  const write = values.write ?? false;
  if (write && quick) return err("--write takes figures of whole runs, not of --quick");
  if (write && isPartial(chosen.value)) return err("--write takes whole parts, not single operations");
  const against = readAgainst(values.against, values.pid, positionals);
  if (!against.ok) return against;
  if (against.value !== null && !chosen.value.cases.includes("operations"))
    return err("--against goes with operations");
  return ok({
    kind: "run",
    ...chosen.value,
    rounds,
    seconds,
    loadSeconds,
    quick,
    against: against.value,
    directory: values.dir ?? null,
    json: values.json ?? false,
    write,
  });
}

function readArguments(argv: readonly string[]) {
  try {
    return ok(
      parseArgs({
        args: [...argv],
        allowPositionals: true,
        options: {
          only: { type: "string" },
          rounds: { type: "string" },
          seconds: { type: "string" },
          "load-seconds": { type: "string" },
          quick: { type: "boolean" },
          against: { type: "string" },
          pid: { type: "string" },
          dir: { type: "string" },
          json: { type: "boolean" },
          write: { type: "boolean" },
          help: { type: "boolean", short: "h" },
        },
      }),
    );
  } catch (error) {
    return err(error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error));
  }
}

function number(text: string | undefined, otherwise: number): number {
  return text === undefined ? otherwise : Number(text === "" ? Number.NaN : text);
}

function chooseParts(only: string | undefined): Result<Pick<BenchCommand, "cases" | "operations">, string> {
  const names: string[] = OPERATIONS.map(({ name }) => name);
  if (only === undefined) return ok({ cases: CASES, operations: names });
  const asked = only.split(",").map((name) => name.trim());
  const unknown = asked.find((name) => !names.includes(name) && !CASES.some((known) => known === name));
  if (unknown !== undefined)
    return err(`--only does not know "${unknown}"; it knows ${[...CASES, ...names].join(", ")}`);
  const operations = asked.includes("operations") ? names : names.filter((name) => asked.includes(name));
  const cases = CASES.filter((name) => (name === "operations" ? operations.length > 0 : asked.includes(name)));
  return ok({ cases, operations });
}

function isPartial({ cases, operations }: Pick<BenchCommand, "cases" | "operations">): boolean {
  return cases.includes("operations") && operations.length < OPERATIONS.length;
}

function readAgainst(
  url: string | undefined,
  process: string | undefined,
  positionals: readonly string[],
): Result<OtherServer | null, string> {
  const [token, ...rest] = positionals;
  if (url === undefined && process !== undefined) return err("--pid goes with --against URL TOKEN");
  if (url === undefined) return token === undefined ? ok(null) : err(`"${token}" is not an option`);
  if (token === undefined || rest.length > 0) return err("--against takes a URL and a token: --against URL TOKEN");
  const place = parsePlace(url);
  if (!place.ok) return place;
  const pid = process === undefined ? null : /^[1-9]\d{0,9}$/.test(process) ? Number(process) : 0;
  if (pid !== null && usageOf(pid).memoryMiB === 0)
    return err(`--pid takes the number of a running process, not "${process}"`);
  return ok({ url, place: place.value, token, pid });
}
