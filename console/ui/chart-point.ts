/** A value at a moment (ms); null where nothing can be said. */
export interface ChartPoint {
  readonly at: number;
  readonly value: number | null;
}
