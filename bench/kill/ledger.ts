/** Kinds of entries. */
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
 * The state of an ending.
 * - "sent": requested without an answer; it is read back after the next start.
 * - "adrift": as "sent", for work that continues after its answer, so no later read is final.
 * - "promised": an answer said that it will happen.
 * - "answered": it has happened.
 */
type Ending = "none" | "sent" | "adrift" | "promised" | "answered";

/** Something whose creation the server has answered. */
export interface Entry {
  readonly kind: Kind;
  /** The text of a token, the id of a lease, or a name. */
  readonly id: string;
  /** The entry with which it ends. */
  readonly parent: Entry | null;
  /** Its index in the ledger. */
  readonly number: number;
  /** The accessor of a token; "" for other kinds. */
  readonly accessor: string;
  ending: Ending;
  /** It ends alone: its children become orphans. */
  alone: boolean;
}

/** A growing number on the server. Its value must lie between the last answered and the last sent one. */
export interface LedgerNumber {
  sent: number;
  answered: number;
}

/** Everything that answers of the server have promised. A kill must break none of it. */
export class Ledger {
  /** In the order of the answers, so each comes after its parent. */
  readonly entries: Entry[] = [];
  readonly numbers = new Map<string, LedgerNumber>();
  /** Unexpected answers. */
  readonly surprises: string[] = [];

  /** Records an answered creation. */
  created(kind: Kind, id: string, parent: Entry | null, accessor = ""): Entry {
    const number = this.entries.length;
    const entry: Entry = { kind, id, parent, number, accessor, ending: "none", alone: false };
    this.entries.push(entry);
    return entry;
  }

  /** The number with this name, 0 at first. */
  number(name: string): LedgerNumber {
    const known = this.numbers.get(name) ?? { sent: 0, answered: 0 };
    this.numbers.set(name, known);
    return known;
  }
}

/**
 * The state that an entry must have after a restart. It ends with every ancestor, up to a token that ended without its children.
 * "unknown" when no answer decides.
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
    // It is open whether the parent still counts, which matters only when the parent is not alive.
    else if (at.parent && expectedOf(at.parent) !== "alive") return "unknown";
    else break;
  }
  return unknown ? "unknown" : "alive";
}

/** True when a found value is possible. */
export function mayContain({ sent, answered }: LedgerNumber, found: number): boolean {
  return found >= answered && found <= sent;
}
