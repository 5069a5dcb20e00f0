import { err, ok, type Result } from "../../src/base/result.ts";
import { type NotRun, readWords } from "../local/command-line.ts";
import type { EndedByRestore } from "../saved/restore.ts";

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
  explain PATH        why a request is allowed or refused, and the policy that would allow it; of this command's own token
    --accessor A        of this token instead (needs sudo on sys/explain/access)
    --operation O       read (unless given), list, scan, create, update, patch or delete
    --parameter N=V     a field of the request (may be repeated)
  doctor              looks for what an operator should know
  restore             brings a backup back (grove backup --address) into a server that was never initialized, with the same seal key
    --from DIR          where the backups are: the newest one, unless --backup names another
    --backup NAME
    --not-before T      ends everything issued at T (RFC 3339) or later, root tokens and tokens of teams too: T is when an attack began
    --issued-before T   ends what was issued before T (RFC 3339, or now), except for root tokens and tokens of teams
    --preview           restores nothing: asks the server that the backup was made of, while it still answers, what was revoked
                        since and would be valid again (needs read and sudo on sys/tokens/ended and sys/leases/revocations)

Filters of tokens and revoke, all of which must hold:
  --mount PATH --role NAME --path-prefix PATH --policy NAME --entity-id ID --display-name NAME (or NAME*)
  --created-after T --created-before T --ends-after T --ends-before T --unused-since T (RFC 3339 or unix seconds)
  --search TEXT (a part of a name, metadata, role, path, entity or accessor) --metadata NAME=VALUE (may be repeated)
  --never-ends --orphan --tree ID

Everywhere:
  --json              the answers as JSON
  --help              this text

VAULT_ADDR says where the server is (default http://127.0.0.1:8200), VAULT_TOKEN is the token; it needs sudo on sys/tokens.
NO_COLOR turns colours off. Exit codes: 0 done, 1 refused, failed or something found, 2 the command line is wrong.
`;

const FILTERS = {
  mount: { type: "string" },
  role: { type: "string" },
  "path-prefix": { type: "string" },
  policy: { type: "string" },
  "entity-id": { type: "string" },
  "display-name": { type: "string" },
  "created-after": { type: "string" },
  "created-before": { type: "string" },
  "ends-after": { type: "string" },
  "ends-before": { type: "string" },
  "unused-since": { type: "string" },
  search: { type: "string" },
  metadata: { type: "string", multiple: true },
  "never-ends": { type: "boolean" },
  orphan: { type: "boolean" },
  tree: { type: "string" },
} as const;

const OPTIONS = {
  ...FILTERS,
  "count-by": { type: "string" },
  sort: { type: "string" },
  limit: { type: "string" },
  "dry-run": { type: "boolean" },
  accessor: { type: "string", multiple: true },
  "include-root": { type: "boolean" },
  "include-self": { type: "boolean" },
  operation: { type: "string" },
  parameter: { type: "string", multiple: true },
  yes: { type: "boolean" },
  job: { type: "string" },
  stop: { type: "string" },
  json: { type: "boolean" },
  from: { type: "string" },
  backup: { type: "string" },
  "not-before": { type: "string" },
  "issued-before": { type: "string" },
  preview: { type: "boolean" },
} as const;

/** Which options each command takes, beside those that all take. */
const TAKEN: Readonly<Record<string, readonly string[]>> = {
  tokens: [...Object.keys(FILTERS), "count-by", "sort", "limit"],
  tree: [],
  revoke: [...Object.keys(FILTERS), "dry-run", "accessor", "include-root", "include-self", "yes", "job", "stop"],
  explain: ["accessor", "operation", "parameter"],
  doctor: [],
  restore: ["from", "backup", "not-before", "issued-before", "preview"],
};

/** A filter, by the names of the fields of `sys/tokens`. */
export type Filter = Readonly<Record<string, string | readonly string[]>>;

/** What the command line asks for. */
export type GroveCommand = { readonly json: boolean } & (
  | { readonly kind: "tokens"; readonly filter: Filter; readonly sort: string; readonly limit: number }
  | { readonly kind: "count"; readonly by: string; readonly filter: Filter }
  | { readonly kind: "tree"; readonly accessor: string | null }
  | {
      readonly kind: "revoke";
      readonly filter: Filter;
      readonly accessors: readonly string[];
      readonly dryRun: boolean;
      readonly includeRoot: boolean;
      readonly includeSelf: boolean;
      readonly yes: boolean;
    }
  | { readonly kind: "job"; readonly id: string }
  | { readonly kind: "stop"; readonly id: string }
  | {
      readonly kind: "explain";
      /** null: the token of the command itself. */
      readonly accessor: string | null;
      readonly path: string;
      readonly operation: string;
      readonly parameters: Readonly<Record<string, string>>;
    }
  | { readonly kind: "doctor" }
  | {
      readonly kind: "restore";
      readonly from: string;
      /** null: the newest. */
      readonly backup: string | null;
      readonly ends: EndedByRestore;
    }
  | {
      readonly kind: "preview";
      readonly from: string;
      /** null: the newest. */
      readonly backup: string | null;
    }
);

/** Reads the command line. */
export function parseGroveArguments(argv: readonly string[]): Result<GroveCommand, NotRun> {
  const read = readWords(argv, OPTIONS, 2);
  if (!read.ok) return read;
  const { values, positionals } = read.value;
  const { json = false } = values;
  const [name, word] = positionals;
  if (name === undefined) return err("which command?");
  const taken = Object.hasOwn(TAKEN, name) ? TAKEN[name] : undefined;
  if (!taken) return err(`there is no command "${name}"`);
  const stray = Object.keys(values).find((option) => option !== "json" && !taken.includes(option));
  if (stray) return err(`${name} takes no --${stray}`);
  if (name !== "tree" && name !== "explain" && word !== undefined) return err(`${name} does not take "${word}"`);
  switch (name) {
    case "tree":
      return ok({ kind: "tree", accessor: word ?? null, json });
    case "explain":
      return readExplain(word, values, json);
    case "doctor":
      return ok({ kind: "doctor", json });
    case "restore":
      return readRestore(values, json);
    case "tokens":
      return readTokens(values, json);
    default:
      return readRevoke(values, json);
  }
}

type Values = Extract<ReturnType<typeof readWords<typeof OPTIONS>>, { ok: true }>["value"]["values"];

function readRestore(values: Values, json: boolean): Result<GroveCommand, string> {
  const { from, backup = null, preview = false } = values;
  const issuedSince = values["not-before"] ?? "";
  const issuedBefore = values["issued-before"] ?? "";
  if (from === undefined) return err("restore needs --from DIR");
  if (!preview) return ok({ kind: "restore", from, backup, ends: { issuedSince, issuedBefore }, json });
  if (issuedSince !== "" || issuedBefore !== "") return err("--preview takes no --not-before and no --issued-before");
  return ok({ kind: "preview", from, backup, json });
}

function readTokens(values: Values, json: boolean): Result<GroveCommand, string> {
  const filter = filterOf(values);
  const by = values["count-by"];
  if (by !== undefined) {
    if (values.sort !== undefined || values.limit !== undefined)
      return err("--count-by takes no --sort and no --limit");
    if (Object.keys(filter).some((name) => name !== "mount")) return err("--count-by takes no filter but --mount");
    return ok({ kind: "count", by, filter, json });
  }
  const { sort = "created", limit = "100" } = values;
  if (!/^\d{1,9}$/.test(limit)) return err(`--limit takes a number, not "${limit}"`);
  return ok({ kind: "tokens", filter, sort, limit: Number(limit), json });
}

function readExplain(path: string | undefined, values: Values, json: boolean): Result<GroveCommand, string> {
  const { accessor: accessors = [], operation = "read", parameter = [] } = values;
  if (path === undefined) return err("explain needs a path");
  if (accessors.length > 1) return err("explain takes one --accessor");
  const parameters = parameter.map((pair) => /^([^=]+)=(.*)$/s.exec(pair));
  if (!parameters.every((match) => match !== null)) return err("--parameter takes NAME=VALUE");
  return ok({
    kind: "explain",
    accessor: accessors[0] ?? null,
    path,
    operation,
    parameters: Object.fromEntries(parameters.map(([, name = "", value = ""]) => [name, value])),
    json,
  });
}

function readRevoke(values: Values, json: boolean): Result<GroveCommand, string> {
  const { job, stop, accessor: accessors = [] } = values;
  const filter = filterOf(values);
  const given = [job, stop].filter((id) => id !== undefined).length;
  const chosen = Object.keys(filter).length > 0 || accessors.length > 0;
  if (given > 0 && (given > 1 || chosen)) return err("--job and --stop stand alone");
  if (job !== undefined) return ok({ kind: "job", id: job, json });
  if (stop !== undefined) return ok({ kind: "stop", id: stop, json });
  if (!chosen) return err("revoke needs a filter or --accessor: without one it would end everything");
  if (Object.keys(filter).length > 0 && accessors.length > 0)
    return err("revoke takes a filter or --accessor, not both");
  return ok({
    kind: "revoke",
    filter,
    accessors,
    dryRun: values["dry-run"] ?? false,
    includeRoot: values["include-root"] ?? false,
    includeSelf: values["include-self"] ?? false,
    yes: values.yes ?? false,
    json,
  });
}

/** A flag is "true" as a text: the interface takes it in that form too. */
function filterOf(values: Values): Filter {
  const fields: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(values)) {
    if (Object.hasOwn(FILTERS, name)) fields[name.replaceAll("-", "_")] = Array.isArray(value) ? value : String(value);
  }
  return fields;
}
