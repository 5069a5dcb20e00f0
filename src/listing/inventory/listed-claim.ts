/** A listed token as its tree is asked about it. */
export interface ListedClaim {
  readonly accessor: string;
  /**
   * What the list has of it: the part that never changes, as text, and its end (ms; null: never). "missing": nothing. "wrong":
   * something that no tree can have said.
   */
  readonly entry: { readonly fixed: string; readonly expiresAt: number | null } | "missing" | "wrong";
}
