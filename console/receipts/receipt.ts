import type { Asker } from "../tokens/model.ts";

/** The receipt of a bulk revocation, or a page of it (docs/inventory.md). */
export interface Receipt {
  readonly job: string;
  readonly state: string;
  /** The job has come to its end, and each token that it counted is named. The first page says it. */
  readonly complete?: boolean;
  /** Null: no token asked, or it is not known. */
  readonly asked_by: Asker | null;
  readonly request_id: string;
  readonly started: string;
  readonly finished: string | null;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly numbers: { readonly matched: number; readonly total: number };
  readonly accessors: readonly string[];
  /** Cursor of the page after; "" on the last one. */
  readonly next: string;
}

/** The result of a check of ended tokens in their trees. */
export interface Checked {
  readonly checked: number;
  /** Tokens that are refused. */
  readonly ended: number;
  /** Accessors of tokens that are not. */
  readonly alive: readonly string[];
  /** "" when all were asked about. */
  readonly next: string;
}
