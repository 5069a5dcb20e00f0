import { err, ok, type Result } from "../../src/base/result.ts";
import { type CommandOf, type NotRun, readWords } from "../local/command-line.ts";
import type { EndedByRestore } from "../saved/restore.ts";
import { AUDIT_OPTIONS, readAudit } from "./audit-arguments.ts";
import { hasToken } from "./secret-like.ts";

export const HELP = `Usage: npm run -s grove -- COMMAND [options]

  tokens              tokens as a table
    --count-by GROUP    counts instead: mount, role, policy, entity, display_name, metadata.NAME,
                        end_hour, created_hour or tree
    --sort ORDER        created, -created, end or -end
    --limit N           at most so many (default 100; 0: all)
  tree [ACCESSOR]     the forest by mount; or a token with its ancestors and what hangs below it
  revoke              ends tokens with everything below them
    --dry-run           only shows what would end
    --accessor A        this token (may be repeated) instead of a filter
    --include-root      root tokens as well
    --include-self      the token of this command as well
    --yes               does not ask
    --job ID            follows a revocation that was begun
    --stop ID           stops one
  contain [TEXT]      ends what has the text in its name, metadata, role, path or entity, or what a filter or --accessor selects:
                      numbers, a confirmation, then the receipt and what each tree says (exit code 0: all is refused;
                      1 also when nothing matches)
    --include-root      root tokens as well
    --include-self      the token of this command as well
    --yes               does not ask
    --job ID            the receipt and the check of a revocation that was begun
  find                what a text is: a token, alive or ended, whose, mistyped, made elsewhere. Reads it from standard
                      input, one a line, or asks without an echo (exit code 1: one is alive)
  why REQUEST_ID|-    why a request was refused, by its line in the audit log on standard input, without one by the audit
                      store; -: the last refused one
  explain PATH        why a request is allowed or refused, and the policy that would allow it; of this command's own token
    --accessor A        of this token instead (needs sudo on sys/explain/access)
    --operation O       read (unless given), list, scan, create, update, patch or delete
    --parameter N=V     a field of the request (may be repeated)
  audit [ACCESSOR|-]  who made a token, alive or not, what it did, from where, and what was done to it, by the audit store;
                      -: the token with this text, from standard input or asked without an echo. Without one: all events that
                      the options select (needs read, with - update, and sudo on sys/audit/*)
    --below             what hangs below the token, too
    --entity ID --role NAME (with --mount PATH) --mount PATH --request ID --address A
    --kind KIND         change, login, refusal, fault or other (also several, with commas)
    --since T --until T from this time on, before that one (RFC 3339 or unix seconds)
    --limit N           at most so many events, the newest (default 100; 0: all)
    verify              whether a record was changed or taken out (exit code 1: one was)
    archive DIR         copies what DIR lacks of the records into it, with signed heads: verify-audit-archive.js checks
                        them offline
  doctor              looks for what an operator should know
  completion SHELL    a script that completes commands and options, for bash, zsh or fish
  restore             brings a backup back (grove backup --address) into a server that was never initialized, with the same seal key
    --from DIR          where the backups are: the newest one, unless --backup names another
    --backup NAME
    --not-before T      ends everything issued at T (RFC 3339) or later, root tokens and tokens of teams too: T is when an attack began
    --issued-before T   ends what was issued before T (RFC 3339, or now), except for root tokens and tokens of teams
    --preview           restores nothing: asks the server that the backup was made of, while it still answers, what was revoked
                        since and would be valid again (needs read and sudo on sys/tokens/ended and sys/leases/revocations)
  init FILE           initializes a server that never was with what a file declares (docs/self-hosting.md), and leaves no root
                      token unless the file says so; VAULT_TOKEN is the GROVE_INIT_TOKEN of the deployment
  apply FILE          shows how a server differs from what a file declares, asks, and applies it in its order, up to the first
                      refusal; what the file does not name is left alone
    --yes               does not ask
    --check             only shows (exit code 2: there are differences, 1: a failure)

Filters of tokens, revoke and contain, all of which must hold:
  --mount PATH --role NAME --path-prefix PATH --policy NAME --entity-id ID --display-name NAME (or NAME*)
  --created-after T --created-before T --ends-after T --ends-before T --unused-since T (RFC 3339 or unix seconds)
  --search TEXT (a part of a name, metadata, role, path, entity or accessor) --metadata NAME=VALUE (may be repeated)
  --never-ends --orphan --tree ID

Everywhere:
  --json              the answers as JSON
  --help              this text
  --                  ends the options: before a word that begins with a dash

VAULT_ADDR says where the server is (default http://127.0.0.1:8200), VAULT_TOKEN is the token; it needs sudo on sys/tokens.
NO_COLOR turns colours off. Exit codes: 0 done, 1 refused, failed or something found, 2 the command line is wrong.
`;

const TEXT = { type: "string" } as const;
const TEXTS = { type: "string", multiple: true } as const;
const FLAG = { type: "boolean" } as const;

const FILTERS = {
  ...{ mount: TEXT, role: TEXT, "path-prefix": TEXT, policy: TEXT, "entity-id": TEXT, "display-name": TEXT },
  ...{ "created-after": TEXT, "created-before": TEXT, "ends-after": TEXT, "ends-before": TEXT, "unused-since": TEXT },
  ...{ search: TEXT, metadata: TEXTS, "never-ends": FLAG, orphan: FLAG, tree: TEXT },
} as const;

/** The commands, with the options that each takes besides --json. */
const COMMANDS = {
  tokens: { ...FILTERS, "count-by": TEXT, sort: TEXT, limit: TEXT },
  tree: {},
  revoke: {
    ...FILTERS,
    ...{
      "dry-run": FLAG,
      accessor: TEXTS,
      "include-root": FLAG,
      "include-self": FLAG,
      yes: FLAG,
      job: TEXT,
      stop: TEXT,
    },
  },
  explain: { accessor: TEXTS, operation: TEXT, parameter: TEXTS },
  contain: {
    ...FILTERS,
    ...{ accessor: TEXTS, "include-root": FLAG, "include-self": FLAG, yes: FLAG, job: TEXT },
  },
  find: {},
  why: {},
  doctor: {},
  completion: {},
  init: {},
  apply: { yes: FLAG, check: FLAG },
  audit: AUDIT_OPTIONS,
  restore: { from: TEXT, backup: TEXT, "not-before": TEXT, "issued-before": TEXT, preview: FLAG },
} as const;

const OPTIONS = {
  json: FLAG,
  ...COMMANDS.tokens,
  ...COMMANDS.revoke,
  ...COMMANDS.explain,
  ...COMMANDS.restore,
  ...COMMANDS.apply,
  ...COMMANDS.audit,
} as const;

type Values = Extract<ReturnType<typeof readWords<typeof OPTIONS>>, { ok: true }>["value"]["values"];

/** A filter, by the names of the fields of `sys/tokens`. */
export type Filter = Readonly<Record<string, string | readonly string[]>>;

/** What the command line asks for. */
export type GroveCommand = { readonly json: boolean } & (
  | CommandOf<typeof readTokens>
  | CommandOf<typeof readRevoke>
  | CommandOf<typeof readContain>
  | CommandOf<typeof readCompletion>
  | { readonly kind: "find" }
  | { readonly kind: "why"; readonly request: string | null }
  | CommandOf<typeof readExplain>
  | CommandOf<typeof readRestore>
  | { readonly kind: "tree"; readonly accessor: string | null }
  | { readonly kind: "doctor" }
  | { readonly kind: "init"; readonly file: string }
  | { readonly kind: "apply"; readonly file: string; readonly yes: boolean; readonly check: boolean }
  | CommandOf<typeof readAudit>
);

/** Reads the command line. */
export function parseGroveArguments(argv: readonly string[]): Result<GroveCommand, NotRun> {
  // Other users of the machine see the words of a command, shells keep them, and most would get into an address.
  const reader = argv[0] === "audit" ? "grove audit -" : "grove find";
  if (argv.some(hasToken)) return err(`this looks like a token, which no command line takes: ${reader} reads it`);
  const words = readWords(argv, OPTIONS, 3);
  if (!words.ok) return words;
  const { json = false, ...values } = words.value.values;
  const [name, word, second] = words.value.positionals;
  if (name === undefined) return err("which command?");
  if (!isCommand(name)) return err(`there is no command "${name}"`);
  const stray = Object.keys(values).find((option) => !Object.hasOwn(COMMANDS[name], option));
  if (stray) return err(`${name} takes no --${stray}`);
  if (!WITH_WORD.has(name) && word !== undefined) return err(`${name} does not take "${word}"`);
  if (name !== "audit" && second !== undefined) return err(`Unexpected argument '${second}'`);
  const command = name === "audit" ? readAudit(word, second, values) : readCommand(name, word, values);
  return command.ok ? ok({ ...command.value, json }) : command;
}

/** Commands that take a word. */
const WITH_WORD: ReadonlySet<string> = new Set([
  "tree",
  "explain",
  "contain",
  "why",
  "completion",
  "init",
  "apply",
  "audit",
]);

/** The commands with their options, for the completion of shells. */
export function optionsOfCommands(): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    Object.entries(COMMANDS).map(([name, options]) => [name, [...Object.keys(options), "json"]]),
  );
}

function isCommand(name: string): name is keyof typeof COMMANDS {
  return Object.hasOwn(COMMANDS, name);
}

function readCommand(name: Exclude<keyof typeof COMMANDS, "audit">, word: string | undefined, values: Values) {
  switch (name) {
    case "tokens":
      return readTokens(values);
    case "tree":
      return ok({ kind: "tree", accessor: word ?? null } as const);
    case "revoke":
      return readRevoke(values);
    case "explain":
      return readExplain(word, values);
    case "contain":
      return readContain(word, values);
    case "find":
      return ok({ kind: "find" } as const);
    case "why":
      if (word === undefined) return err("why needs the id of a request, or - for the last one that was refused");
      return ok({ kind: "why", request: word === "-" ? null : word } as const);
    case "completion":
      return readCompletion(word);
    case "doctor":
      return ok({ kind: "doctor" } as const);
    case "restore":
      return readRestore(values);
    case "init":
      return word === undefined ? err("init needs a file") : ok({ kind: "init", file: word } as const);
    case "apply":
      return readApply(word, values);
  }
}

function readApply(file: string | undefined, { yes = false, check = false }: Values) {
  if (file === undefined) return err("apply needs a file");
  if (yes && check) return err("--check takes no --yes");
  return ok({ kind: "apply", file, yes, check } as const);
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

/** `limit` is 0 for all tokens. */
function readTokens({ "count-by": by, sort, limit, ...filters }: Values) {
  const filter = filterOf(filters);
  if (by !== undefined) {
    if (sort !== undefined || limit !== undefined) return err("--count-by takes no --sort and no --limit");
    if (Object.keys(filter).some((name) => name !== "mount")) return err("--count-by takes no filter but --mount");
    return ok({ kind: "count", by, filter } as const);
  }
  if (!/^\d{1,9}$/.test(limit ?? "0")) return err(`--limit takes a number, not "${limit}"`);
  return ok({ kind: "tokens", filter, sort: sort ?? "created", limit: Number(limit ?? "100") } as const);
}

/** `accessor` is null for the command's own token. */
function readExplain(
  path: string | undefined,
  { accessor: accessors = [], operation = "read", parameter = [] }: Values,
) {
  if (path === undefined) return err("explain needs a path");
  if (accessors.length > 1) return err("explain takes one --accessor");
  const pairs = parameter.map((pair) => /^([^=]+)=(.*)$/s.exec(pair));
  if (!pairs.every((match) => match !== null)) return err("--parameter takes NAME=VALUE");
  const parameters = Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name, value]));
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

const SHELLS = ["bash", "zsh", "fish"] as const;

function readCompletion(word: string | undefined) {
  const shell = SHELLS.find((one) => one === word);
  return shell ? ok({ kind: "completion", shell } as const) : err(`completion takes one of ${SHELLS.join(", ")}`);
}

/** `job` is null for a new revocation. */
function readContain(word: string | undefined, values: Values) {
  const { job = null, accessor: accessors = [] } = values;
  if (word !== undefined && values.search !== undefined) return err("contain takes a text or --search, not both");
  const filter = { ...filterOf(values), ...(word !== undefined && { search: word }) };
  const isFiltered = Object.keys(filter).length > 0;
  if (job !== null && (isFiltered || accessors.length > 0)) return err("--job stands alone");
  if (job === null && !isFiltered && accessors.length === 0) return err("contain needs a text, a filter or --accessor");
  if (isFiltered && accessors.length > 0) return err("contain takes a text or filter, or --accessor, not both");
  const { "include-root": includeRoot = false, yes = false } = values;
  const includeSelf = values["include-self"] ?? false;
  return ok({ kind: "contain", job, filter, accessors, dryRun: false, includeRoot, includeSelf, yes } as const);
}

/** A flag is "true" as a text: the interface takes it in that form too. */
function filterOf(values: Values): Filter {
  const fields: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(values)) {
    if (Object.hasOwn(FILTERS, name)) fields[name.replaceAll("-", "_")] = Array.isArray(value) ? value : String(value);
  }
  return fields;
}
