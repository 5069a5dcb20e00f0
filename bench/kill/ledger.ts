/** What kind of thing the server has to remember. */
export type Kind =
  | "token"
  | "login token"
  | "role token"
  | "passing token"
  | "batch token"
  | "lease"
  | "wrapped answer"
  | "policy"
  | "team"
  | "team token"
  | "access-list entry";

/**
 * How far an ending is.
 * - "sent": asked for, and no answer came: it happened or not, and is read back after the next start.
 * - "adrift": as "sent", for work that continues after its answer, so that no later read is final.
 * - "promised": an answer said that it will happen.
 * - "answered": it happened.
 */
type Ending = "none" | "sent" | "adrift" | "promised" | "answered";

/** Something that the server has answered to have made. */
export interface Entry {
  readonly kind: Kind;
  /** What it is asked for by: the text of a token, the id of a lease, a name. */
  readonly id: string;
  /** What it ends with. */
  readonly parent: Entry | null;
  /** The place in the ledger. */
  readonly number: number;
  /** The accessor of a token, "" for everything else. */
  readonly accessor: string;
  ending: Ending;
  /** It ends alone: its children become orphans. */
  alone: boolean;
}

/** A number that only grows, in some place on the server. What is there must lie between what was answered and sent. */
export interface LedgerNumber {
  sent: number;
  answered: number;
}

/** Everything that the server has promised by an answer. A kill must not break any of it. */
export class Ledger {
  /** In the order in which they were answered, so that each comes after its parent. */
  readonly entries: Entry[] = [];
  readonly numbers = new Map<string, LedgerNumber>();
  /** Answers that no request of a run should get. */
  readonly surprises: string[] = [];

  /** A creation was answered. */
  created(kind: Kind, id: string, parent: Entry | null, accessor = ""): Entry {
    const number = this.entries.length;
    const entry: Entry = { kind, id, parent, number, accessor, ending: "none", alone: false };
    this.entries.push(entry);
    return entry;
  }

  /** The number of the place `name`, 0 in the beginning. */
  number(name: string): LedgerNumber {
    const known = this.numbers.get(name) ?? { sent: 0, answered: 0 };
    this.numbers.set(name, known);
    return known;
  }
}

/**
 * What must be true of an entry after a restart: it dies with everything above it, up to a token that ended without its children.
 * "unknown" when no answer says.
 */
export function expectedOf(entry: Entry): "alive" | "dead" | "unknown" {
  let unknown = false;
  let below: Entry | null = null;
  for (let at: Entry | null = entry; at; below = at, at = at.parent) {
    if (at.ending === "none") continue;
    const isCut = at.alone && below?.kind === "token";
    if (at.ending === "answered" && !isCut) return "dead";
    if (at.ending === "answered") break;
    if (!isCut) unknown = true;
    // Whether the parent still counts is open. That matters only when the parent is not alive.
    else if (at.parent && expectedOf(at.parent) !== "alive") return "unknown";
    else break;
  }
  return unknown ? "unknown" : "alive";
}

/** True when a value that was found may be there. */
export function mayContain({ sent, answered }: LedgerNumber, found: number): boolean {
  return found >= answered && found <= sent;
}
