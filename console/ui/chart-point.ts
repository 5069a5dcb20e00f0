/** A value at a time (ms); null when there is none. */
export interface ChartPoint {
  readonly at: number;
  readonly value: number | null;
}
