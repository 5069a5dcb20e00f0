/** Numbers of tokens by something (docs/inventory.md). */
export interface Summary {
  readonly groups: readonly { readonly key: string; readonly count: number; readonly trees?: number }[];
  readonly total: number;
  readonly other?: number;
}
