/** An option: its value and its description. */
export interface OptionEntry {
  readonly type: "boolean" | "string";
  readonly multiple?: true;
  /** The name of its value in the help. FILE and DIR are paths. */
  readonly value?: string;
  readonly about: string;
  /** Allowed values. An entry that ends in a dot is the beginning of a value. */
  readonly values?: readonly string[];
  /** Several values with commas are allowed. */
  readonly several?: true;
  /** The value is NAME=VALUE. */
  readonly pairs?: true;
  /** The value is a whole number from 0 on. */
  readonly counts?: true;
  /** The value is a time. A duration is subtracted from now ("before") or added to it ("after"). */
  readonly time?: "before" | "after";
  /** The value is an IP address. */
  readonly address?: true;
  /** The time may be the word "now", which the server reads by its own clock. */
  readonly orNow?: true;
}

/** A command. */
interface CommandEntry {
  /** The word that it takes, as in the help; brackets: it may be left out. */
  readonly word?: string;
  /** Allowed words, if they are few. */
  readonly words?: readonly string[];
  /** One line for the list of commands. */
  readonly brief: string;
  readonly about: string;
  /** The format of the output when it is not JSON. */
  readonly answer?: string;
  /** A call, which a test parses. */
  readonly example: string;
  /** Exit codes, if they differ from the usual ones. */
  readonly codes?: string;
  /** Its further words, as in the help. */
  readonly parts?: Readonly<Record<string, string>>;
  /** Whether the command takes the filters, which are part of its options. */
  readonly filters?: true;
  readonly options: Readonly<Record<string, OptionEntry>>;
}

const flag = (about: string) => ({ type: "boolean", about }) as const;
const text = (value: string, about: string) => ({ type: "string", value, about }) as const;
const texts = (value: string, about: string) => ({ type: "string", multiple: true, value, about }) as const;
const pairs = (about: string) => ({ ...texts("N=V", about), pairs: true }) as const;
const number = (about: string) => ({ type: "string", value: "N", counts: true, about }) as const;
const time = (side: "before" | "after", about: string) => ({ type: "string", value: "T", time: side, about }) as const;

const FILTERS = {
  mount: text("PATH", "issued by the auth method that is mounted there"),
  role: text("NAME", "created by this role"),
  "path-prefix": text("PATH", "created by a request whose path begins so"),
  policy: text("NAME", "that have this policy"),
  "entity-id": text("ID", "of this entity"),
  "display-name": text("NAME", "with this name, or with NAME* one that begins so"),
  search: text("TEXT", "with this part of a name, metadata, role, path, entity or accessor"),
  metadata: pairs("with this pair of metadata (may be repeated)"),
  "created-after": time("before", "created after T"),
  "created-before": time("before", "created before T"),
  "ends-after": time("after", "that end after T, or never"),
  "ends-before": time("after", "that end before T"),
  "unused-since": time("before", "created before T, without a use since then that is known"),
  "never-ends": flag("that never end"),
  orphan: flag("that have no parent"),
  tree: text("ID", "of this tree"),
} as const;

const SELF = {
  "include-root": flag("root tokens as well"),
  "include-self": flag("the token of this command as well"),
  yes: flag("does not ask"),
} as const;

const ORDERS = ["created", "-created", "end", "-end"] as const;
const GROUPS = [
  ...["mount", "role", "policy", "entity", "display_name", "metadata.", "end_hour", "created_hour", "tree"],
] as const;
/** As in `src/audit/query.ts`, which a test compares. */
const KINDS = ["change", "login", "refusal", "fault", "other"] as const;
const OPERATIONS = ["read", "list", "scan", "create", "update", "patch", "delete"] as const;
const SHELLS = ["bash", "zsh", "fish"] as const;

/** The commands, with their own options. Help, completion and parser are generated from this table. */
export const COMMANDS = {
  tokens: {
    example: "tokens --policy root --sort end",
    brief: "lists or counts tokens",
    about: "tokens as a table",
    filters: true,
    options: {
      ...FILTERS,
      "count-by": {
        ...text(
          "GROUP",
          "counts instead, all or with --mount those of a mount, or with --ends-before those that end until then (--ends-after: from then on; by mount to metadata.NAME), and takes no other filter: mount, role, policy, entity, display_name, metadata.NAME, end_hour, created_hour or tree",
        ),
        values: GROUPS,
      },
      sort: { ...text("ORDER", `${ORDERS.slice(0, -1).join(", ")} or ${ORDERS.at(-1)}`), values: ORDERS },
      limit: number("at most so many (default 100; 0: all)"),
    },
  },
  tree: {
    example: "tree",
    brief: "shows the forest, or a token with what hangs below it",
    word: "[ACCESSOR]",
    about: "the forest by mount; or a token with its ancestors and what hangs below it",
    options: {},
  },
  revoke: {
    example: "revoke --role ci --created-before 24h --dry-run",
    codes:
      "0 all that was to end has ended, or nothing matched, 1 refused, failed, not confirmed, or a name in the filter is not known, 2 the command line or VAULT_ADDR is wrong",
    brief: "ends tokens with everything below them",
    about: "ends tokens with everything below them",
    filters: true,
    options: {
      ...FILTERS,
      "dry-run": flag("only shows what would end"),
      accessor: texts("A", "this token (may be repeated) instead of a filter"),
      ...SELF,
      job: text("ID", "follows a revocation that was begun"),
      stop: text("ID", "stops one"),
    },
  },
  contain: {
    example: "contain payments",
    codes:
      "0 every token is refused and every lease ended, 1 one is not, nothing matched, refused or failed, 2 the command line or VAULT_ADDR is wrong",
    brief: "ends what a text selects, and proves it",
    word: "[TEXT]",
    about:
      "ends what has the text in its name, metadata, role, path or entity, or what a filter or --accessor selects: numbers, a confirmation, then the receipt and what each tree says",
    filters: true,
    options: {
      ...FILTERS,
      accessor: texts("A", "this token (may be repeated) instead of a text or filter"),
      ...SELF,
      job: text("ID", "the receipt and the check of a revocation that was begun"),
      "retry-leases": flag("with --job: first sends the leases again that fail (needs update on sys/leases/revoke)"),
    },
  },
  leases: {
    example: "leases --retry",
    codes: "0 no lease fails, 1 one does, refused or failed, 2 the command line or VAULT_ADDR is wrong",
    brief: "lists leases whose revocation fails",
    about:
      "lists leases that have ended and whose service has not accepted it, so that their secrets can still be used: those that were given up (irrevocable), and those of tokens that ended lately which are tried again (needs read and sudo on sys/leases)",
    options: {
      retry: flag(
        "sends each again first, and shows those that still fail (needs update on sys/leases/revoke and sys/leases/lookup)",
      ),
    },
  },
  find: {
    example: "find < leaked.txt",
    codes:
      "0 none of the texts can be used, 1 one of them can, or the server did not answer, 2 the command line or VAULT_ADDR is wrong, 3 one could not be judged, and none that was can be used",
    brief: "says what a text is",
    about:
      "says of each token, secret-id and JWT in a text what it is, whose, and whether it can be used: live, refused (its entity is disabled), ended, mistyped, made elsewhere, or not judged. Reads a file of any length on standard input, such as a log or a .env, or asks for a line without an echo. Of several lines only what has the form of a token, a JWT or a named secret-id is asked about; one line without any is asked about as a whole. JSON is one object for each text that something is known of, one a line, with the numbers of its lines",
    options: {
      "whole-lines": flag(
        "asks about each line without such a form as a whole, and about the value that it assigns, for ids that were chosen (at most 1 MiB)",
      ),
    },
  },
  why: {
    example: "why 3ec50187-719e-463c-9e51-ded1453cb163 --log audit.log",
    codes:
      "0 the request would be allowed now, 1 it would be refused, or is not known, 2 the command line or VAULT_ADDR is wrong",
    brief: "says why a request was refused",
    word: "REQUEST_ID|-",
    about:
      "why a request was refused, by the audit store; -: the last refused one, by the log on standard input if there is one",
    options: {
      log: text("FILE", "by its line in this audit log, - for standard input, in the place of the audit store"),
    },
  },
  explain: {
    example: "explain sys/mounts --operation update",
    codes: "0 allowed, 1 refused or failed, 2 the command line or VAULT_ADDR is wrong",
    brief: "says why a request is allowed or refused",
    word: "PATH",
    about: "why a request is allowed or refused, and the policy that would allow it; of this command's own token",
    options: {
      accessor: texts("A", "of this token instead (needs sudo on sys/explain/access)"),
      operation: {
        ...text("O", `read (unless given), ${OPERATIONS.slice(1, -1).join(", ")} or ${OPERATIONS.at(-1)}`),
        values: OPERATIONS,
      },
      parameter: pairs("a field of the request (may be repeated)"),
    },
  },
  audit: {
    example: "audit --kind refusal,fault --since 24h",
    codes:
      "0 done, 1 nothing is known of what was named, a record was changed, refused or failed, 2 the command line or VAULT_ADDR is wrong",
    brief: "says who made a token and what it did",
    word: "[ACCESSOR|-]",
    about:
      "who made a token, alive or not, what it did, from where, and what was done to it, by the audit store; -: the token with this text, from standard input or asked without an echo. Without one: all events that the options select (needs read, with - update, and sudo on sys/audit/*; exit code 1: nothing is known of what was named)",
    parts: {
      verify: "whether a record was changed or taken out (exit code 1: one was)",
      "archive DIR":
        "copies what DIR lacks of the records into it, with signed heads: verify-audit-archive.js checks them offline",
    },
    options: {
      below: flag("with all that hangs below it, dead or alive: what each did, from where, and who made it"),
      entity: text("ID", "of this entity"),
      role: text("NAME", "of logins by this role (with --mount)"),
      mount: text("PATH", "of this mount, such as auth/aws/"),
      path: text("PATH", "of requests whose path begins so"),
      request: text("ID", "of this request"),
      address: { ...text("A", "from this IP address"), address: true },
      kind: {
        ...text("KIND", `${KINDS.slice(0, -1).join(", ")} or ${KINDS.at(-1)} (also several, with commas)`),
        values: KINDS,
        several: true,
      },
      since: time("before", "from this time on"),
      until: time("before", "before this time"),
      limit: number("at most so many events, the newest (default 100; 0: all)"),
    },
  },
  doctor: {
    example: "doctor",
    codes:
      "0 nothing is failing, 1 something is, or the checks of the server can't be seen, 2 the command line or VAULT_ADDR is wrong",
    brief: "looks for what an operator should know",
    about: "looks for what an operator should know",
    options: {},
  },
  completion: {
    example: "completion bash >> ~/.bashrc",
    answer: "a script",
    brief: "makes a script for a shell",
    word: "SHELL",
    words: SHELLS,
    about:
      "a script that completes commands, options and their values of grove, for bash, zsh or fish; where it is called as npx grove, put alias grove='npx grove' beside it",
    options: {},
  },
  restore: {
    example: "restore --from /backup --issued-before now",
    brief: "brings a backup back",
    about:
      "brings a backup back (npm run backup -- --address) into a server that was never initialized, with the same seal key",
    options: {
      from: text("DIR", "where the backups are: the newest one, unless --backup names another"),
      backup: text("NAME", "this one"),
      "not-before": time(
        "before",
        "ends everything issued at T or later, root tokens and tokens of teams too: T is when an attack began",
      ),
      "issued-before": {
        ...time("before", "ends what was issued before T (or now), except for root tokens and tokens of teams"),
        orNow: true,
      },
      preview: flag(
        "restores nothing: asks the server that the backup was made of, while it still answers, what was revoked since and would be valid again (needs read and sudo on sys/tokens/ended and sys/leases/revocations)",
      ),
    },
  },
  init: {
    example: "init start.hcl",
    brief: "initializes a server with what a file declares",
    word: "FILE",
    about:
      "initializes a server that never was with what a file declares (docs/self-hosting.md), and leaves no root token unless the file says so; VAULT_TOKEN is the GROVE_INIT_TOKEN of the deployment",
    options: {},
  },
  apply: {
    example: "apply start.hcl --check",
    codes:
      "0 done, or nothing differs, 1 refused, failed or the command line or VAULT_ADDR is wrong, 2 --check found differences",
    brief: "changes a server to what a file declares",
    word: "FILE",
    about:
      "shows how a server differs from what a file declares, asks, and applies it in its order, up to the first refusal; what the file does not name is left alone",
    options: {
      yes: flag("does not ask"),
      check: flag("only shows (exit code 2: there are differences, 1: a failure)"),
    },
  },
  "generate-root": {
    example: "generate-root",
    brief: "makes a root token for who has none",
    about:
      "makes a root token and prints it, by the secrets of the deployment: GROVE_INIT_TOKEN and GROVE_SEAL_KEY in the environment. VAULT_TOKEN is not used. Every call is in the log",
    options: {
      cancel: flag("ends an attempt that was begun and not completed, instead"),
    },
  },
  help: {
    example: "help revoke",
    answer: "text",
    brief: "shows this text, or that of a command",
    word: "[COMMAND]",
    about: "this text, or that of a command",
    options: {},
  },
  version: { example: "version", brief: "shows the release", about: "the release of this command", options: {} },
} as const satisfies Readonly<Record<string, CommandEntry>>;

export type CommandName = keyof typeof COMMANDS;

/** The options of every command. */
export const EVERYWHERE = {
  json: flag("the answers as JSON on standard output; failures and notes are text on standard error"),
  help: flag("this text"),
  version: flag("the release of this command"),
} as const satisfies Readonly<Record<string, OptionEntry>>;

/** The names of the filters. */
export const FILTER_NAMES: ReadonlySet<string> = new Set(Object.keys(FILTERS));

/** The options of all commands together, for the parser. */
export const OPTIONS = {
  json: EVERYWHERE.json,
  ...COMMANDS.tokens.options,
  ...COMMANDS.revoke.options,
  ...COMMANDS.contain.options,
  ...COMMANDS.explain.options,
  ...COMMANDS.restore.options,
  ...COMMANDS.apply.options,
  ...COMMANDS.audit.options,
  ...COMMANDS.why.options,
  ...COMMANDS.find.options,
  ...COMMANDS.leases.options,
  ...COMMANDS["generate-root"].options,
} as const;

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name);
}

/** The entry of a command, without the types of its own options. */
export function commandEntry(name: CommandName): CommandEntry {
  return COMMANDS[name];
}

/** The commands in the order of the help. */
export const COMMAND_NAMES: readonly CommandName[] = Object.keys(COMMANDS).filter(isCommand);

/** The options of a command with those of all. */
export function optionsOf(name: CommandName): Readonly<Record<string, OptionEntry>> {
  return { ...commandEntry(name).options, ...everywhereOf(name) };
}

/** The options of all commands, as far as a command takes them. */
export function everywhereOf(name: CommandName): Readonly<Record<string, OptionEntry>> {
  const { json, ...others } = EVERYWHERE;
  return commandEntry(name).answer === undefined ? { json, ...others } : others;
}
