import { readdirSync, readFileSync } from "node:fs";

/** What a process uses. */
export interface ProcessFigures {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly openFiles: number;
}

/** Clock ticks of a second in /proc, as every Linux that Node runs on has them. */
const TICKS = 100;
const PAGE_BYTES = 4096;

/** What a process uses, as Linux reports it; null elsewhere, and of a process that is gone. */
export function processFigures(pid: number | "self"): ProcessFigures | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold anything, blanks too.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS,
      residentBytes: Number(fields[21]) * PAGE_BYTES,
      openFiles: readdirSync(`/proc/${pid}/fd`).length,
    };
  } catch {
    return null;
  }
}
