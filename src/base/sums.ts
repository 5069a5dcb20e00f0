/** Adds numbers by name: those of `more` to those of `sums`. The result has the fields of `sums` alone. */
export function addNumbers<T extends Readonly<Record<keyof T, number>>>(sums: T, more: Partial<T>): T {
  const added: Readonly<Record<string, number | undefined>> = more;
  const all = Object.entries<number>(sums).map(([name, count]) => [name, count + (added[name] ?? 0)] as const);
  return { ...sums, ...Object.fromEntries(all) };
}
