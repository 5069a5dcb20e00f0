/** A listed token as its tree is asked about it. */
export interface ListedClaim {
  readonly accessor: string;
  /**
   * What the list has of it: the part that never changes, as text, and its end (ms; null: never). "wrong": something that no tree
   * can have said.
   */
  readonly entry: { readonly fixed: string; readonly expiresAt: number | null } | "wrong";
}
