import { readFileSync } from "node:fs";

/** What a process has used of the machine. */
export interface Usage {
  /** Seconds of all its threads, in user and in system mode. */
  readonly cpuSeconds: number;
  /** Resident memory in MiB. */
  readonly memoryMiB: number;
}

/** Linux counts CPU time in these, on every platform that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Reads it from /proc; zeros for a process that is not there. */
export function usageOf(pid: number): Usage {
  try {
    return parseUsage(readFileSync(`/proc/${pid}/stat`, "latin1"), readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return { cpuSeconds: 0, memoryMiB: 0 };
  }
}

/** Reads the texts of /proc/PID/stat and /proc/PID/status. */
export function parseUsage(stat: string, status: string): Usage {
  // The name of the program, in parentheses, may hold anything; what follows it is counted from state, the third field.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return { cpuSeconds: ticks / TICKS_PER_SECOND, memoryMiB: Number(resident ?? 0) / 1024 };
}
