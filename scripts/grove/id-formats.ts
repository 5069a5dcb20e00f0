import { asCalled, helpAsCalled } from "../local/command-line.ts";
import type { CallFailure } from "./client.ts";
import { readCommand } from "./curl.ts";
import { harmless } from "./terminal.ts";
import { UUID } from "./uuid.ts";

/** A kind of name or id that an operator copies from elsewhere. */
interface Named {
  /** Without its article. */
  readonly noun: string;
  /** The message about a text of the right form that does not exist. */
  readonly none: string;
  readonly form: RegExp;
  /** The form in words. */
  readonly formText: string;
  /** What may be wrong with a text of the right form. */
  readonly unknown: string;
}

/** The id of a token of a team or an organization. */
const TEAM_TOKEN_ID = /^at-[\w-]+$/;
const UUID_TEXT = "it has the form 3ec50187-719e-463c-9e51-ded1453cb163";

const NAMED = {
  accessor: {
    noun: "accessor",
    none: "no token has the accessor",
    form: /^[\w-]{84}$/,
    formText: "an accessor has 84 letters, digits, - and _",
    unknown: "it is mistyped, was made by another server, or its token ended longer ago than ends are kept",
  },
  entity: {
    noun: "id of an entity",
    none: "no entity has the id",
    form: UUID,
    formText: UUID_TEXT,
    unknown: "it is mistyped, or was deleted",
  },
  request: {
    noun: "id of a request",
    none: "no request that is known has the id",
    form: UUID,
    formText: UUID_TEXT,
    unknown: "",
  },
  job: {
    noun: "id of a job",
    none: "no job has the id",
    form: UUID,
    formText: UUID_TEXT,
    unknown: "it is mistyped, or not kept any more",
  },
  tree: {
    noun: "id of a tree",
    none: "no tree has the id",
    form: /^[\da-f]{64}$/,
    formText: "it has 64 digits, 0 to 9 and a to f",
    unknown: "it is mistyped, or of another server",
  },
} as const satisfies Readonly<Record<string, Named>>;

export type NamedKind = keyof typeof NAMED;

/** True for a text that does not have the form of this kind. */
export function isMalformed(kind: NamedKind, text: string): boolean {
  return !NAMED[kind].form.test(text);
}

/**
 * The message about a name or id that does not exist. It repeats what the operator typed, who does not know the fields
 * of the API.
 */
export function nothingIs(kind: NamedKind, text: string): string {
  const { noun, none, formText } = NAMED[kind];
  const unknown = kind === "request" ? noRequest() : NAMED[kind].unknown;
  if (!isMalformed(kind, text)) return `${none} ${text}: ${unknown}`;
  if (kind === "accessor" && TEAM_TOKEN_ID.test(text))
    return `${text} is the id of a token of a team: DELETE /api/v2/authentication-tokens/${text} deletes it (${helpAsCalled("docs/runbook.md")}, A person has left)`;
  if (kind === "accessor" && UUID.test(text))
    return `${text} is no accessor of a token; of a secret-id it is one: ${asCalled("find")} shows how that is destroyed`;
  if (kind === "accessor" && /^(?:…|\.\.\.)[\w-]+$/.test(text))
    return `"${harmless(text)}" is only the end of an accessor: ${formText}`;
  return `"${harmless(text)}" is no ${noun}: ${formText}`;
}

/** The audit store has changes, logins, refusals and faults, but no reads. It has refusals after some seconds. */
function noRequest(): string {
  return `it is mistyped, less than ten seconds old, not kept any more, was refused by a quota (429) soon after another one of its client, or was allowed and changed nothing, as a read or one of what is not there: the audit store does not have these one by one; by the audit log: ${asCalled("why ID --log FILE")} (${helpAsCalled("docs/audit.md")})`;
}

interface Selected {
  readonly accessors?: readonly string[];
  readonly filter?: Readonly<Record<string, string | readonly string[]>>;
}

/**
 * Replaces the message of a 400 about a selection of tokens by one about what the operator typed. Other failures stay.
 */
export function byWhatWasTyped(failure: CallFailure, { accessors = [], filter = {} }: Selected): CallFailure {
  if (failure.status !== 400) return failure;
  const message = MESSAGES[failure.message]?.(accessors, filter);
  return message === undefined ? failure : { status: null, message };
}

type Message = (accessors: readonly string[], filter: NonNullable<Selected["filter"]>) => string;

/** By the message of the server. A test compares them. */
export const MESSAGES: Readonly<Record<string, Message>> = {
  "accessors has an item that is not an accessor": (accessors) => {
    const wrong =
      accessors.find((one) => isMalformed("accessor", one)) ?? (accessors.length === 1 ? accessors[0] : null);
    return wrong == null
      ? "one of the accessors is mistyped, or was made by another server: nothing was ended"
      : nothingIs("accessor", wrong);
  },
  "tree is not the id of a tree": (_, { tree }) => nothingIs("tree", String(tree)),
  "no auth method is mounted at the path of mount": (_, { mount }) =>
    `no auth method is mounted at "${harmless(String(mount))}": ${readCommand("sys/auth")} names them`,
};
