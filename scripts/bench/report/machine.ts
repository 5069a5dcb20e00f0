import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";
import { findWorkerd } from "../../serve/workerd.ts";
import { must } from "../must.ts";

/** The machine that figures were taken on, and the programs. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  /** Where the data were: device and file system. */
  readonly disk: string;
  /** Average time of one small write that is on disk when it returns, ms. */
  readonly syncMs: number;
  readonly node: string;
  readonly workerd: string;
}

/** Describes this machine; `directory` is where the data are. */
export function describeMachine(directory: string, syncMs: number): Machine {
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    disk: diskOf(directory),
    syncMs,
    node: process.version,
    workerd: execFileSync(must(findWorkerd()), ["--version"], { encoding: "utf8" }).trim(),
  };
}

/** The device and file system that hold `directory`, by the longest mount point above it. */
function diskOf(directory: string): string {
  try {
    const mounts = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .map((line) => line.split(" "));
    const above = mounts.filter(
      ([, point]) => point !== undefined && `${directory}/`.startsWith(point === "/" ? "/" : `${point}/`),
    );
    const [device, , fileSystem] = above.toSorted(([, a = ""], [, b = ""]) => b.length - a.length)[0] ?? [];
    return `${fileSystem} on ${device}`;
  } catch {
    return "unknown";
  }
}
