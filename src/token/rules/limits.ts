/** The tighter of two limits of which 0 means none. */
export function lesserLimit(a: number, b: number): number {
  return a === 0 || b === 0 ? a || b : Math.min(a, b);
}
