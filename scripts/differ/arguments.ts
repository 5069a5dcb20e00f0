import { err, ok, type Result } from "../../src/base/result.ts";
import { readWords } from "../local/command-line.ts";
import { AREAS } from "./areas/areas.ts";

export const HELP = `Usage: npm run differ -- [options] URL TOKEN URL TOKEN

Sends the same random requests to a reference server and to a server under test, in this order of the arguments (origin and
root token of each), and prints where their answers differ, grouped. Both keep what the rounds made.

  --seed TEXT     what the random choices come from (default 1); the same seed makes the same requests
  --rounds N      rounds of each area (default 10)
  --first N       number of the first round (default 0), to repeat one round of a report: --first 7 --rounds 1
  --only LIST     areas, separated by commas (default all): ${Object.keys(AREAS).join(", ")}
  --texts         compares the texts of refusals too
  --all           prints differences that docs/compatibility.md explains too
  --help          this text

Exit code: 0 without unexplained differences, 1 with some, 2 for a mistake in the arguments.
`;

/** What the command line asks for. */
export interface DifferCommand {
  readonly kind: "run";
  readonly reference: { readonly url: string; readonly token: string };
  readonly tested: { readonly url: string; readonly token: string };
  readonly seed: string;
  readonly rounds: number;
  readonly first: number;
  readonly areas: readonly string[];
  readonly texts: boolean;
  readonly all: boolean;
}

/** Reads the command line; the error is for the operator. */
export function parseDifferArguments(
  argv: readonly string[],
): Result<DifferCommand | { readonly kind: "help" }, string> {
  const read = readWords(argv, {
    seed: { type: "string", default: "1" },
    rounds: { type: "string", default: "10" },
    first: { type: "string", default: "0" },
    only: { type: "string", default: Object.keys(AREAS).join(",") },
    texts: { type: "boolean", default: false },
    all: { type: "boolean", default: false },
    help: { type: "boolean", short: "h" },
  });
  if (!read.ok) return read;
  const { values, positionals } = read.value;
  if (values.help) return ok({ kind: "help" });
  const [url = "", token = "", testedUrl = "", testedToken = "", ...more] = positionals;
  if (testedToken === "" || more.length > 0)
    return err("give URL TOKEN of the reference, then URL TOKEN of the server under test");
  for (const text of [url, testedUrl]) if (!URL.canParse(text)) return err(`${text} is not a URL`);
  const [rounds, first] = [Number(values.rounds), Number(values.first)];
  if (!(Number.isInteger(rounds) && rounds >= 1)) return err("--rounds takes a number from 1");
  if (!(Number.isInteger(first) && first >= 0)) return err("--first takes a number from 0");
  const areas = values.only.split(",");
  const unknown = areas.find((area) => !Object.hasOwn(AREAS, area));
  if (unknown !== undefined) return err(`--only: there is no area ${unknown}`);
  return ok({
    kind: "run",
    reference: { url, token },
    tested: { url: testedUrl, token: testedToken },
    seed: values.seed,
    rounds,
    first,
    areas,
    texts: values.texts,
    all: values.all,
  });
}
