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
  /** The value is the path of requests or of a mount. It may be a URL, or begin with its base path. */
  readonly path?: true;
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
  /** It does not use VAULT_TOKEN. */
  readonly needsNoToken?: true;
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
const path = (about: string) => ({ ...text("PATH", about), path: true }) as const;
const number = (about: string) => ({ type: "string", value: "N", counts: true, about }) as const;
const time = (side: "before" | "after", about: string) => ({ type: "string", value: "T", time: side, about }) as const;

const FILTERS = {
  mount: path("issued by the auth method that is mounted there"),
  role: text("NAME", "created by this role"),
  "path-prefix": path("created by a request whose path begins with PATH"),
  policy: text("NAME", "with this policy"),
  "entity-id": text("ID", "of this entity"),
  "display-name": text("NAME", "with this name; NAME* is every name that begins with NAME"),
  search: text("TEXT", "that have TEXT in their name, metadata, role, path, entity or accessor"),
  metadata: pairs("with this pair of metadata (may be repeated)"),
  "created-after": time("before", "created after T"),
  "created-before": time("before", "created before T"),
  "ends-after": time("after", "that end after T, or never"),
  "ends-before": time("after", "that end before T"),
  "unused-since": time("before", "created before T, and not known to be used since"),
  "never-ends": flag("that never end"),
  orphan: flag("that have no parent"),
  tree: text("ID", "of this tree"),
} as const;

const SELF = {
  "include-root": flag("root tokens as well"),
  "include-self": flag("VAULT_TOKEN itself as well"),
  yes: flag("does not ask for confirmation"),
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
    codes:
      "0 done, also without a match, 1 a name in the filter is not known, refused or failed, 2 the command line or VAULT_ADDR is wrong",
    brief: "lists or counts tokens",
    about: "lists tokens in a table; with --json every field of each",
    filters: true,
    options: {
      ...FILTERS,
      "count-by": {
        ...text(
          "GROUP",
          "counts tokens by GROUP instead: mount, role, policy, entity, display_name, metadata.NAME, end_hour, created_hour or tree. Takes --mount alone of the filters, or --ends-before with or without --ends-after and --mount: the tokens that end in that time, by mount to metadata.NAME",
        ),
        values: GROUPS,
      },
      sort: { ...text("ORDER", `${ORDERS.slice(0, -1).join(", ")} or ${ORDERS.at(-1)}`), values: ORDERS },
      limit: number("at most N tokens (default 100; 0: all)"),
    },
  },
  tree: {
    example: "tree",
    codes: "0 done, 1 there is no such token, refused or failed, 2 the command line or VAULT_ADDR is wrong",
    brief: "shows all trees of tokens, or the tree of one token",
    word: "[ACCESSOR]",
    about: "shows the largest trees of tokens by mount, or one token with its ancestors and descendants",
    options: {},
  },
  revoke: {
    example: "revoke --role ci --created-before 24h --dry-run",
    codes:
      "0 all that was to end has ended, or nothing matched, 1 refused, failed, not confirmed, or a name in the filter is not known, 2 the command line or VAULT_ADDR is wrong",
    brief: "revokes tokens with all their descendants",
    about:
      "revokes the tokens that a filter or accessors select, with all their descendants: shows how many, asks for confirmation, and waits for the end",
    filters: true,
    options: {
      ...FILTERS,
      "dry-run": flag("only shows what would be revoked"),
      accessor: texts("A", "this token (may be repeated) instead of a filter"),
      ...SELF,
      job: text("ID", "follows a revocation that has begun"),
      stop: text("ID", "stops one; what it has revoked stays revoked"),
    },
  },
  contain: {
    example: "contain payments",
    codes:
      "0 every token is refused and every lease ended (with - also before), 1 one is not, or what it made is alive, nothing matched, refused or failed, 2 the command line or VAULT_ADDR is wrong",
    brief: "revokes what a text selects, and proves it",
    word: "[TEXT|-]",
    about:
      "revokes the tokens that have TEXT in their name, metadata, role, path or entity, or that a filter or accessors select, with all their descendants: shows how many, asks for confirmation, then shows the receipt, and whether every token is refused and every lease revoked; - reads a token, a secret-id, the id of a lease or the token of a team from standard input, or asks for it without showing it, and ends that",
    filters: true,
    options: {
      ...FILTERS,
      accessor: texts("A", "this token (may be repeated) instead of a text or filter"),
      ...SELF,
      job: text("ID", "shows the receipt of a revocation that has begun, and checks it again"),
      "retry-leases": flag("with --job: first sends again the leases that fail (needs update on sys/leases/revoke)"),
    },
  },
  leases: {
    example: "leases --retry",
    codes: "0 no lease fails, 1 one does or may, refused or failed, 2 the command line or VAULT_ADDR is wrong",
    brief: "lists leases whose revocation fails",
    about:
      "lists leases that have ended but whose service has not accepted the revocation, so that their secrets can still be used: those that were given up (irrevocable), and those that ended lately, which are tried again (needs read and sudo on sys/leases)",
    options: {
      retry: flag(
        "sends each again first, and shows those that still fail (needs update on sys/leases/revoke and sys/leases/lookup)",
      ),
    },
  },
  find: {
    example: "find < leaked.txt",
    codes:
      "0 none of the texts can be used (also an accessor or the id of a lease, which are no secrets), 1 one of them can, or the server did not answer, 2 the command line or VAULT_ADDR is wrong, 3 one could not be judged, such as a part of a token, or is like a token that is alive, and none that was can be used",
    brief: "says what a leaked text is, and if it can be used",
    about:
      "reads a text from standard input, such as a log or a .env of any length but not compressed, or asks for one line unseen. Says of each token, secret-id and JWT in it what it is, whose, and its state: live, refused (its entity is disabled), ended, mistyped, elsewhere (of another installation), or not judged. It also finds what is glued together, wrapped over lines, in base64, or without its s. at the beginning. Of several lines it takes only what has the form of a token, a JWT or a named secret-id, and up to 32 UUIDs and ids of leases; a single line without such a form is looked up as it is. With --json one object a line for each text that something is known of, with the numbers of its lines",
    options: {
      "whole-lines": flag(
        "also looks up each line without such a form as it is, and the value that it assigns, for ids that somebody chose (at most 1 MiB)",
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
      "says why a request was refused, from the audit store; - is the last request that was refused, of the log on standard input if there is one, or the request whose id is in the text there, such as an answer with its headers. Without an id, audit --kind refusal --since 4h [--path P] [--address A] finds it",
    options: {
      log: text("FILE", "reads this audit log instead of the audit store; - is standard input"),
    },
  },
  explain: {
    example: "explain sys/mounts --operation update",
    codes: "0 allowed, 1 refused or failed, 2 the command line or VAULT_ADDR is wrong",
    brief: "says why a request is allowed or refused",
    word: "PATH",
    about: "says whether VAULT_TOKEN may make a request, why, and which policy would allow it",
    options: {
      accessor: texts("A", "asks about this token instead (needs sudo on sys/explain/access)"),
      operation: {
        ...text("O", `the operation: read (default), ${OPERATIONS.slice(1, -1).join(", ")} or ${OPERATIONS.at(-1)}`),
        values: OPERATIONS,
      },
      parameter: pairs("a field of the request body (may be repeated)"),
    },
  },
  audit: {
    example: "audit --kind refusal,fault --since 24h",
    codes:
      "0 done, 1 nothing is known of what was named, a record was changed or is missing, refused or failed, 2 the command line or VAULT_ADDR is wrong",
    brief: "shows who made a token, what it did, and other events",
    word: "[ACCESSOR|-]",
    about:
      "shows from the audit store who made a token, what it did, from where, and what was done to it, also after its end; - reads the token itself from standard input, or asks for it without showing it. Without ACCESSOR: all events that the options select (needs read, with - update, and sudo on sys/audit/*)",
    parts: {
      verify: "checks that no record was changed or removed (exit code 1: one was)",
      "archive DIR": "copies new records into DIR, with signed heads; verify-audit-archive.js checks them offline",
    },
    options: {
      below: flag("with all descendants of the token, also ended ones"),
      entity: text("ID", "of this entity"),
      role: text("NAME", "of logins by this role (with --mount)"),
      mount: path("of this mount, such as auth/aws/"),
      path: path("of requests whose path begins with PATH"),
      request: text("ID", "of this request"),
      address: { ...text("A", "from this IP address"), address: true },
      kind: {
        ...text("KIND", `${KINDS.slice(0, -1).join(", ")} or ${KINDS.at(-1)} (also several, with commas)`),
        values: KINDS,
        several: true,
      },
      since: time("before", "from this time on"),
      until: time("before", "before this time"),
      limit: number("at most N events, the newest (default 100; 0: all)"),
    },
  },
  doctor: {
    example: "doctor",
    codes:
      "0 nothing is failing, 1 something is, or the checks of the server can't be seen, 2 the command line or VAULT_ADDR is wrong",
    brief: "checks the server, and says what to do",
    about:
      "checks the server, the token and the installation, and says of each problem what to do and where that is described",
    options: {
      copies: text(
        "DIR",
        "also reads all of the newest backup in DIR, and tries GROVE_SEAL_KEY, if set: the server does not see files",
      ),
    },
  },
  completion: {
    example: "completion bash >> ~/.bashrc",
    answer: "a script",
    brief: "prints a completion script for a shell",
    word: "SHELL",
    words: SHELLS,
    about:
      "prints a script that completes commands, options and values for bash, zsh or fish; where grove is called as npx grove, also add alias grove='npx grove'",
    options: {},
  },
  restore: {
    example: "restore --from /backup --issued-before now",
    codes:
      "0 restored, or --preview was answered, 1 the backup is damaged, refused or failed, 2 the command line or VAULT_ADDR is wrong",
    brief: "restores a backup into a new server",
    about:
      "restores a backup (npm run backup -- --address) into a server that was never initialized and has the same seal key",
    options: {
      from: text("DIR", "the directory of backups; without --backup the newest is restored"),
      backup: text("NAME", "the backup to restore"),
      "not-before": time(
        "before",
        "revokes everything issued at T or later, root tokens and tokens of teams too: T is when an attack began",
      ),
      "issued-before": {
        ...time(
          "before",
          "revokes what was issued before T (or now), except root tokens of sys/init and generate-root, and tokens of teams",
        ),
        orNow: true,
      },
      preview: flag(
        "restores nothing: asks the server of the backup, while it still answers, what was revoked since and would be valid again (needs read and sudo on sys/tokens/ended and sys/leases/revocations)",
      ),
    },
  },
  init: {
    example: "init start.hcl",
    codes:
      "0 initialized, or it was before, 1 the file is wrong, refused or failed, 2 the command line or VAULT_ADDR is wrong",
    brief: "initializes a new server from a file",
    word: "FILE",
    about:
      "initializes a new server with what a file declares (docs/self-hosting.md), and keeps no root token unless the file names a root_token_file; VAULT_TOKEN is the GROVE_INIT_TOKEN of the deployment",
    options: {},
  },
  apply: {
    example: "apply start.hcl --check",
    codes:
      "0 done, or nothing differs, 1 refused, failed or the command line or VAULT_ADDR is wrong, 2 --check found differences",
    brief: "changes a server to match a file",
    word: "FILE",
    about:
      "shows how a server differs from what a file declares, asks for confirmation, and writes the differences in the order of the file, up to the first refusal; what the file does not name is left alone",
    options: {
      yes: flag("does not ask for confirmation"),
      check: flag("only shows the differences (exit code 2: there are some, 1: a failure)"),
    },
  },
  "generate-root": {
    example: "generate-root",
    needsNoToken: true,
    brief: "makes a new root token from the secrets of the server",
    about:
      "makes a root token and prints it. It needs the secrets of the deployment in the environment, GROVE_INIT_TOKEN and GROVE_SEAL_KEY; in a folder of grove new it takes them from secrets.env. Every call is in the log",
    options: {
      cancel: flag("instead cancels an attempt that has begun and is not complete"),
    },
  },
  help: {
    example: "help revoke",
    answer: "text",
    brief: "shows this help, or that of a command",
    word: "[COMMAND]",
    about: "shows the list of commands, or the help of one",
    options: {},
  },
  version: { example: "version", brief: "shows the release", about: "shows the release of this command", options: {} },
} as const satisfies Readonly<Record<string, CommandEntry>>;

export type CommandName = keyof typeof COMMANDS;

/** The options of every command. */
export const EVERYWHERE = {
  json: flag("the answer as JSON on standard output; errors and notes stay text on standard error"),
  help: flag("this help"),
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
  ...COMMANDS.doctor.options,
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
