import { AnsweredChanges } from "./changes.ts";

export type Kind =
  | "token"
  | "login token"
  | "role token"
  | "short-lived token"
  | "batch token"
  | "lease"
  | "wrapped answer"
  | "policy"
  | "team"
  | "team token"
  | "access-list entry";

/**
 * The state of the request that ends an entry (revocation, deletion or replacement).
 * - "none": no such request was sent.
 * - "sent": not answered. The entry is read from the server after the next start.
 * - "sent in background": not answered, for work that continues after its answer. A later read is not final.
 * - "promised": answered, but the work continues in the background.
 * - "answered": answered and complete.
 */
type Ending = "none" | "sent" | "sent in background" | "promised" | "answered";

/** An object whose creation the server has answered with success. */
export interface Entry {
  readonly kind: Kind;
  /** The text of a token (a secret), the id of a lease, or a name. */
  readonly id: string;
  /** The entry whose end also ends this one; null if there is none. */
  readonly parent: Entry | null;
  /** Its index in the ledger. */
  readonly number: number;
  /** The accessor of a token; "" for other kinds. */
  readonly accessor: string;
  ending: Ending;
  /** True if the ending does not include children, which become orphans. */
  alone: boolean;
}

/** An increasing number on the server. The stored value must be between the last answered and the last sent one. */
export interface LedgerNumber {
  sent: number;
  answered: number;
}

/** Records every success that the server has answered. A kill must not undo any of them. */
export class Ledger {
  /** For the audit store. */
  readonly changes = new AnsweredChanges();
  /** In the order of the answers, so an entry comes after its parent. */
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

  /** The number with this name. A new one is 0. */
  number(name: string): LedgerNumber {
    const known = this.numbers.get(name) ?? { sent: 0, answered: 0 };
    this.numbers.set(name, known);
    return known;
  }
}

/**
 * The state that an entry must have after a restart: "unknown" if it depends on a request without a final answer.
 * An entry ends with any of its ancestors, except those above a token that was revoked without its children.
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
    // It is unknown whether the entry was detached from its ancestors. That matters only if one of them is not alive.
    else if (at.parent && expectedOf(at.parent) !== "alive") return "unknown";
    else break;
  }
  return unknown ? "unknown" : "alive";
}

/** True if the stored value `found` is consistent with the answers. */
export function mayContain({ sent, answered }: LedgerNumber, found: number): boolean {
  return found >= answered && found <= sent;
}
