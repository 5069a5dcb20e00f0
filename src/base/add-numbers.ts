/** `sums` with the numbers of `more` added, field by field. Fields that only `more` has are ignored. */
export function addNumbers<T extends Readonly<Record<keyof T, number>>>(sums: T, more: Partial<T>): T {
  const added: Readonly<Record<string, number | undefined>> = more;
  const all = Object.entries<number>(sums).map(([name, count]) => [name, count + (added[name] ?? 0)] as const);
  return { ...sums, ...Object.fromEntries(all) };
}
