import type { Token } from "./model.ts";

/** Who asked for the end of a token. */
export interface Asker {
  /** "" for a token without one. */
  readonly accessor: string;
  readonly display_name: string;
  readonly entity_id: string;
}

/** How a token ended (docs/inventory.md). */
export interface TokenEnd {
  readonly at: string;
  readonly how: string;
  /** Null: no token asked, or it is not known. */
  readonly by: Asker | null;
  /** The accessor of the token that it ended with; its own when it ended by itself. */
  readonly cause: string;
  readonly request_id: string;
  /** The job that revoked it; "" without one. */
  readonly job: string;
  /** How many others ended with it. */
  readonly with?: number;
}

export interface EndedToken {
  readonly token: Token;
  readonly ended: TokenEnd;
}
