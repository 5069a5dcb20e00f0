/** The smallest round number from `value` on whose half is also round. */
export function roundTop(value: number): number {
  if (value <= 2) return value;
  const power = 10 ** Math.floor(Math.log10(value));
  const top = [1, 2, 4, 6, 8, 10].find((times) => times * power >= value) ?? 10;
  return top * power;
}
