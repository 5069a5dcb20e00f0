import { execFileSync } from "node:child_process";
import { closeSync, existsSync, fsyncSync, openSync, readlinkSync, rmSync, statSync, writeSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { basename, join } from "node:path";
import { findWorkerd } from "../scripts/local/workerd-program.ts";
import { median } from "./statistics.ts";

/** Number of writes of the disk probe. */
const WRITES = 50;

/** Describes in one line the machine, the disk of `directory`, and the versions of Node and workerd. */
export function describeMachine(directory: string): string {
  const [{ model } = { model: "unknown" }] = cpus();
  const workerd = findWorkerd();
  return [
    `${model.trim()}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    `${fileSystemOf(directory)}, a small write with fsync takes ${syncMs(directory).toFixed(2)} ms`,
    `Node ${process.version}`,
    workerd.ok ? execFileSync(workerd.value, ["--version"], { encoding: "utf8" }).trim() : "no workerd",
  ].join("; ");
}

/** The file system type of a directory. Names an ext4 without a journal, where creating files costs far more CPU. */
function fileSystemOf(directory: string): string {
  const type = execFileSync("df", ["--output=fstype", directory], { encoding: "utf8" }).trim().split("\n").at(-1) ?? "";
  return type === "ext4" && !hasJournal(directory) ? "ext4 without a journal" : type;
}

/** False if the directory is on an ext4 that, according to /proc, has no journal. */
function hasJournal(directory: string): boolean {
  const { dev } = statSync(directory);
  const major = (dev >> 8) & 0xfff;
  const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00);
  const link = `/sys/dev/block/${major}:${minor}`;
  const device = existsSync(link) ? basename(readlinkSync(link)) : "";
  return device === "" || !existsSync(`/proc/fs/ext4/${device}`) || existsSync(`/proc/fs/jbd2/${device}-8`);
}

/** Median time of a 4 KiB write with fsync (ms). Every database commit includes such a write. */
function syncMs(directory: string): number {
  const path = join(directory, "sync-probe");
  const file = openSync(path, "w");
  const times = Array.from({ length: WRITES }, (_, write) => {
    const began = performance.now();
    writeSync(file, Buffer.alloc(4096, write));
    fsyncSync(file);
    return performance.now() - began;
  });
  closeSync(file);
  rmSync(path);
  return median(times);
}
