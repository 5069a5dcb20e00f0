import type { Ms } from "../../src/base/clock.ts";
import { err, ok, type Result } from "../../src/base/result.ts";
import { MIN_SEARCH } from "../../src/listing/inventory/filter.ts";
import type { EndedByRestore } from "../backup/api/restore.ts";
import { asCalled, type CommandOf, type NotRun, PROGRAMS, readWords, tokenProblem } from "../local/command-line.ts";
import { didYouMean } from "../local/did-you-mean.ts";
import { readAudit } from "./audit-arguments.ts";
import {
  COMMAND_NAMES,
  COMMANDS,
  type CommandName,
  commandEntry,
  FILTER_NAMES,
  isCommand,
  OPTIONS,
  optionsOf,
} from "./command-table.ts";
import { requestIdIn } from "./commands/why-text.ts";
import { readValues } from "./option-values.ts";

type Values = Extract<ReturnType<typeof readWords<typeof OPTIONS>>, { ok: true }>["value"]["values"];

/** A filter, by the names of the fields of `sys/tokens`. */
export type Filter = Readonly<Record<string, string | readonly string[]>>;

/** What the command line asks for. */
export type GroveCommand = { readonly json: boolean } & (
  | CommandOf<typeof readTokens>
  | CommandOf<typeof readRevoke>
  | CommandOf<typeof readContain>
  | CommandOf<typeof readCompletion>
  | { readonly kind: "find"; readonly wholeLines: boolean }
  | CommandOf<typeof readWhy>
  | CommandOf<typeof readExplain>
  | CommandOf<typeof readRestore>
  | { readonly kind: "tree"; readonly accessor: string | null }
  | { readonly kind: "doctor"; readonly copies: string | null }
  | { readonly kind: "leases"; readonly retry: boolean }
  | { readonly kind: "version" }
  | { readonly kind: "init"; readonly file: string }
  | { readonly kind: "generate-root"; readonly cancel: boolean }
  | { readonly kind: "apply"; readonly file: string; readonly yes: boolean; readonly check: boolean }
  | CommandOf<typeof readAudit>
);

/**
 * Reads the command line.
 *
 * @param now this machine's clock, which durations count from.
 * @param programs the programs that the binary runs by name, besides the commands.
 */
export function parseGroveArguments(
  argv: readonly string[],
  now: Ms = Date.now(),
  programs: readonly string[] = [],
): Result<GroveCommand, NotRun> {
  const token = tokenProblem(argv, argv[0] === "audit" ? "audit -" : "find");
  if (token !== null) return err(token);
  const [first, about] = argv;
  const called = first === "help" ? about : first;
  // Checked before --help: the general help would hide that the command does not exist.
  if (called !== undefined && !called.startsWith("-") && !isCommand(called)) return noCommand(called, programs);
  const meant = argv.find(isCommand);
  const words = readWords(argv, OPTIONS, MOST_WORDS, meant && Object.keys(optionsOf(meant)));
  if (!words.ok) return words;
  const { json = false, ...given } = words.value.values;
  const hour = words.value.positionals.find((one) => TIME_OF_DAY.test(one));
  if (hour !== undefined) return err(`"${hour}" stands alone: a time is one word, such as 2026-11-22T01:30:00Z`);
  const [name, word, second] = words.value.positionals;
  if (name === undefined) return err("which command?");
  if (!isCommand(name)) return noCommand(name, programs);
  const { options, word: taken, answer } = commandEntry(name);
  if (json && answer !== undefined) return err(`${name} takes no --json: its answer is ${answer}`);
  const stray = Object.keys(given).find((option) => !Object.hasOwn(options, option));
  if (stray) {
    const known = [...Object.keys(options).map(dashed), "VAULT_ADDR"];
    return err(`${name} takes no --${stray}${didYouMean(`--${stray}`, known)}`);
  }
  if (name === "find" && word !== undefined)
    return err(`find takes no word: it reads a file as ${asCalled("find")} < FILE, and asks when there is none`);
  if (taken === undefined && word !== undefined) return err(`${name} does not take "${word}"`);
  // A pasted header has two words.
  const pasted = name === "why" && second !== undefined ? requestIdIn(`${word} ${second}`) : null;
  if (name !== "audit" && pasted === null && second !== undefined) return err(`unexpected word "${second}"`);
  const read = readValues(given, options, now);
  if (!read.ok) return read;
  const values = { ...given, ...read.value };
  const empty = emptyRange(values, now);
  if (empty !== null) return err(empty);
  if (name === "help") return err({ show: "help" });
  const command = name === "audit" ? readAudit(word, second, values) : readCommand(name, pasted ?? word, values, now);
  return command.ok ? ok({ ...command.value, json }) : command;
}

/** Pairs of options that begin and end a range of times. */
const RANGES = [
  ["since", "until"],
  ["created-after", "created-before"],
  ["ends-after", "ends-before"],
] as const;

/** The problem of a time or range that selects nothing, as if nothing had happened. null: no problem. */
function emptyRange(values: Values, now: Ms): string | null {
  const range = RANGES.find(([from, to]) => Date.parse(values[from] ?? "") >= Date.parse(values[to] ?? ""));
  if (range !== undefined) return `there is no time from --${range[0]} to --${range[1]}: the first is not earlier`;
  const isAhead = (option: "since" | "not-before" | "issued-before"): boolean =>
    Date.parse(values[option] ?? "") > now + MAX_SKEW_MS;
  if (isAhead("since")) return "--since is later than now by this machine's clock: nothing has happened since";
  // The server refuses it too, and only when all parts of the backup are there.
  const end = (["not-before", "issued-before"] as const).find(isAhead);
  return end === undefined ? null : `--${end} takes a time that has passed, by this machine's clock`;
}

/** The clock of the server may be ahead of that of this machine by this. */
const MAX_SKEW_MS: Ms = 60_000;

/** @param programs the programs that the binary runs by name; empty in a clone, where they are npm scripts. */
function noCommand(name: string, programs: readonly string[]) {
  const script = PROGRAMS.find((program) => program === name && program !== "new");
  if (script !== undefined && programs.length === 0)
    return err(`"${name}" is a script of its own here: npm run -s ${script} -- --help`);
  return err(`there is no command "${name}"${didYouMean(name, [...COMMAND_NAMES, ...programs])}`);
}

/** Words of a command line besides options, as in `audit archive DIR`. */
const MOST_WORDS = 3;

/** The second word of `--since 2026-11-22 01:30`. */
const TIME_OF_DAY = /^\d{1,2}:\d\d(?::[\d.]+)?Z?$/;

const dashed = (option: string): string => `--${option}`;

function readCommand(name: Exclude<CommandName, "audit" | "help">, word: string | undefined, values: Values, now: Ms) {
  switch (name) {
    case "tokens":
      return readTokens(values, now);
    case "tree":
      return ok({ kind: "tree", accessor: word ?? null } as const);
    case "revoke":
      return readRevoke(values);
    case "explain":
      return readExplain(word, values);
    case "contain":
      return readContain(word, values);
    case "find":
      return ok({ kind: "find", wholeLines: values["whole-lines"] ?? false } as const);
    case "leases":
      return ok({ kind: "leases", retry: values.retry ?? false } as const);
    case "why":
      return readWhy(word, values);
    case "completion":
      return readCompletion(word);
    case "doctor":
      return values.copies === ""
        ? err("--copies takes a directory")
        : ok({ kind: "doctor", copies: values.copies ?? null } as const);
    case "version":
      return ok({ kind: "version" } as const);
    case "restore":
      return readRestore(values);
    case "init":
      return word === undefined ? err("init needs a file") : ok({ kind: "init", file: word } as const);
    case "apply":
      return readApply(word, values);
    case "generate-root":
      return ok({ kind: "generate-root", cancel: values.cancel ?? false } as const);
  }
}

function readApply(file: string | undefined, { yes = false, check = false }: Values) {
  if (file === undefined) return err("apply needs a file");
  if (yes && check) return err("--check takes no --yes");
  return ok({ kind: "apply", file, yes, check } as const);
}

/** `request` is null for the last refused request, `log` without a log. The word may be a header with the id. */
function readWhy(word: string | undefined, { log }: Values) {
  if (word === undefined) return err("why needs the id of a request, or - for the last one that was refused");
  return ok({ kind: "why", request: word === "-" ? null : (requestIdIn(word) ?? word), log: log ?? null } as const);
}

/** `backup` is null for the newest. */
function readRestore(values: Values) {
  const { from, backup = null, preview, "not-before": since = "", "issued-before": before = "" } = values;
  if (from === undefined) return err("restore needs --from DIR");
  const ends: EndedByRestore = { issuedSince: since, issuedBefore: before };
  if (!preview) return ok({ kind: "restore", from, backup, ends } as const);
  if (since !== "" || before !== "") return err("--preview takes no --not-before and no --issued-before");
  return ok({ kind: "preview", from, backup } as const);
}

/** Filters that a count accepts. */
const COUNTED: ReadonlySet<string> = new Set(["mount", "ends_after", "ends_before"]);

/** `limit` is 0 for all tokens. */
function readTokens({ "count-by": by, sort, limit, ...filters }: Values, now: Ms) {
  const filter = filterOf(filters);
  if (by !== undefined) {
    if (sort !== undefined || limit !== undefined) return err("--count-by takes no --sort and no --limit");
    if (Object.keys(filter).some((name) => !COUNTED.has(name)))
      return err(
        "--count-by takes no filter but --mount, --ends-after and --ends-before: revoke --dry-run counts what other filters select",
      );
    const { mount, ends_after: from, ends_before: to } = filter;
    if (to === undefined && from !== undefined) return err("--count-by takes --ends-after beside --ends-before");
    if (to === undefined) return ok({ kind: "count", by, filter } as const);
    if (by === "tree" || by.endsWith("_hour")) return err(`--count-by ${by} takes no time`);
    const span = { from: String(from ?? new Date(now).toISOString()), to: String(to) };
    return ok({ kind: "ends", by, mount: String(mount ?? ""), ...span } as const);
  }
  return ok({ kind: "tokens", filter, sort: sort ?? "created", limit: Number(limit ?? "100") } as const);
}

/** `accessor` is null for the command's own token. */
function readExplain(
  path: string | undefined,
  { accessor: accessors = [], operation = "read", parameter = [] }: Values,
) {
  if (path === undefined) return err("explain needs a path");
  if (accessors.length > 1) return err("explain takes one --accessor");
  const parameters = Object.fromEntries(
    parameter.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
  );
  return ok({ kind: "explain", accessor: accessors[0] ?? null, path, operation, parameters } as const);
}

function readRevoke(values: Values) {
  const { job, stop, accessor: accessors = [] } = values;
  const filter = filterOf(values);
  const isFiltered = Object.keys(filter).length > 0;
  const isChosen = isFiltered || accessors.length > 0;
  if (job !== undefined || stop !== undefined) {
    if (isChosen || (job !== undefined && stop !== undefined)) return err("--job and --stop stand alone");
    return ok(job === undefined ? ({ kind: "stop", id: stop ?? "" } as const) : ({ kind: "job", id: job } as const));
  }
  if (!isChosen) return err("revoke needs a filter or --accessor: without one it would end everything");
  if (isFiltered && accessors.length > 0) return err("revoke takes a filter or --accessor, not both");
  const { "dry-run": dryRun = false, "include-root": includeRoot = false, yes = false } = values;
  const includeSelf = values["include-self"] ?? false;
  return ok({ kind: "revoke", filter, accessors, dryRun, includeRoot, includeSelf, yes } as const);
}

function readCompletion(word: string | undefined) {
  const shells = COMMANDS.completion.words;
  const shell = shells.find((one) => one === word);
  if (shell) return ok({ kind: "completion", shell } as const);
  return err(`completion takes one of ${shells.join(", ")}${didYouMean(word ?? "", shells)}`);
}

/** `job` is null for a new revocation. */
function readContain(word: string | undefined, values: Values) {
  const { job = null, accessor: accessors = [] } = values;
  if (word !== undefined && values.search !== undefined) return err("contain takes a text or --search, not both");
  const retry = values["retry-leases"] ?? false;
  const { "include-root": includeRoot = false, "include-self": includeSelf = false, yes = false } = values;
  if (word === "-") {
    const isAlone = Object.keys(filterOf(values)).length === 0 && accessors.length === 0 && job === null && !retry;
    return isAlone
      ? ok({ kind: "contain-text", includeRoot, includeSelf, yes } as const)
      : err("contain - takes no filter, no --accessor and no --job");
  }
  const filter = { ...filterOf(values), ...(word !== undefined && { search: word }) };
  const isFiltered = Object.keys(filter).length > 0;
  if (retry && job === null) return err("--retry-leases stands beside --job");
  if (job !== null && (isFiltered || accessors.length > 0)) return err("--job stands alone");
  if (job === null && !isFiltered && accessors.length === 0) return err("contain needs a text, a filter or --accessor");
  if (isFiltered && accessors.length > 0) return err("contain takes a text or filter, or --accessor, not both");
  if (word !== undefined && [...word].length < MIN_SEARCH)
    return err(`contain takes a text of ${MIN_SEARCH} characters or more; --display-name takes a whole name`);
  return ok({ kind: "contain", job, retry, filter, accessors, dryRun: false, includeRoot, includeSelf, yes } as const);
}

/** A boolean flag is the text "true", which the API accepts. */
function filterOf(values: Values): Filter {
  const fields: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(values)) {
    if (FILTER_NAMES.has(name)) fields[name.replaceAll("-", "_")] = Array.isArray(value) ? value : String(value);
  }
  return fields;
}
