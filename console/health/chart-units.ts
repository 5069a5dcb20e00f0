import { compact, count } from "../format.ts";

export const perSecond = (value: number): string =>
  `${value < 10 ? value.toFixed(value < 0.1 && value > 0 ? 3 : 1) : compact(Math.round(value))}/s`;

export const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : count(Math.round(value))} ms`;
