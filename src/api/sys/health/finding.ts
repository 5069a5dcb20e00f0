import type { Ms } from "../../../base/clock.ts";

/** `attention`: an operator should look; `failing`: an operator has to act; `unknown`: it can't be seen from here. */
export type HealthState = "ok" | "attention" | "failing" | "unknown";

/** The result of a check, in words for operators. */
export interface Finding {
  readonly state: HealthState;
  /** What was seen. */
  readonly seen: string;
  /** What to do, and where it is described; both "" when there is nothing to do. */
  readonly advice: string;
  readonly link: string;
}

export const good = (seen: string): Finding => ({ state: "ok", seen, advice: "", link: "" });
const other = (state: HealthState) => (seen: string, advice: string, link: string) => ({ state, seen, advice, link });
export const attention = other("attention");
export const failing = other("failing");
export const unknown = other("unknown");

/** Objects that a finding names: where the disk is full, none answers. */
const NAMED_OBJECTS = 4;

/** The first of some names of objects, and how many others there are. */
export function named(names: readonly string[]): string {
  const others = names.length - NAMED_OBJECTS;
  return `${names.slice(0, NAMED_OBJECTS).join(", ")}${others > 0 ? ` and ${others} others` : ""}`;
}

/** A time span in its largest unit that is at least 2: `90 s`, `3 h`, `5 days`. */
export function spanText(ms: Ms): string {
  const [unit, length] = SPANS.find(([, size]) => ms >= 2 * size) ?? ["s", 1000];
  return `${Math.max(0, Math.round(ms / length))} ${unit}`;
}

const SPANS = [
  ["days", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
] as const;
