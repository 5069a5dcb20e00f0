/** What the server has answered about one token. */
export interface LedgerToken {
  readonly token: string;
  readonly parent: LedgerToken | null;
  /** "sent": asked for, and no answer came: it may or may not have happened. */
  revocation: "none" | "sent" | "answered";
}

/** What must be true of a token after a restart; "unknown" when nobody was told. */
export type Expected = "alive" | "dead" | "unknown";

/** A number that only grows, in some place on the server. What is there must lie between what was answered and sent. */
export interface LedgerNumber {
  sent: number;
  answered: number;
}

/** Everything that a server promised by answering, whatever happens to it afterwards. */
export class Ledger {
  readonly tokens: LedgerToken[] = [];
  readonly numbers = new Map<string, LedgerNumber>();

  /** A creation was answered. */
  created(token: string, parent: LedgerToken | null): LedgerToken {
    const entry: LedgerToken = { token, parent, revocation: "none" };
    this.tokens.push(entry);
    return entry;
  }

  /** The number of the place `name`, 0 in the beginning. */
  number(name: string): LedgerNumber {
    const known = this.numbers.get(name) ?? { sent: 0, answered: 0 };
    this.numbers.set(name, known);
    return known;
  }
}

/** What must be true of a token: it dies with everything above it. */
export function expectedOf(token: LedgerToken): Expected {
  let unknown = false;
  for (let at: LedgerToken | null = token; at; at = at.parent) {
    if (at.revocation === "answered") return "dead";
    if (at.revocation === "sent") unknown = true;
  }
  return unknown ? "unknown" : "alive";
}

/** True when a value that was found may be there. */
export function mayHold({ sent, answered }: LedgerNumber, found: number): boolean {
  return found >= answered && found <= sent;
}
