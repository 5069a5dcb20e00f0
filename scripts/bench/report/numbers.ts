import type { Windows } from "../cases/beside.ts";
import type { Spread } from "../statistics.ts";

/** A number with three digits that count, thousands set apart. */
export function amount(value: number): string {
  if (value === 0) return "0";
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 3;
  const rounded = value >= 1000 ? Number(value.toPrecision(3)) : value;
  return rounded.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** `median (min-max)`. */
export function amounts({ median, min, max }: Spread): string {
  return `${amount(median)} (${amount(min)}-${amount(max)})`;
}

/** `median (worst)`. */
export function windowsText({ median, worst }: Windows): string {
  return `${amount(median)} (${amount(worst)})`;
}
