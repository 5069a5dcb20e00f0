import { execFileSync } from "node:child_process";
import { closeSync, existsSync, fsyncSync, openSync, readlinkSync, rmSync, statSync, writeSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { basename, join } from "node:path";
import { findWorkerd } from "../scripts/serve/workerd-config.ts";
import { median } from "./statistics.ts";

const WRITES = 50;

/** One line about the machine, the disk of `directory`, and the programs. */
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

/** The type of a directory's file system, and whether an ext4 lacks a journal: new files cost much more then. */
function fileSystemOf(directory: string): string {
  const type = execFileSync("df", ["--output=fstype", directory], { encoding: "utf8" }).trim().split("\n").at(-1) ?? "";
  return type === "ext4" && !hasJournal(directory) ? "ext4 without a journal" : type;
}

/** False when Linux shows the ext4 of a directory and no journal of its device. */
function hasJournal(directory: string): boolean {
  const { dev } = statSync(directory);
  const major = (dev >> 8) & 0xfff;
  const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00);
  const link = `/sys/dev/block/${major}:${minor}`;
  const device = existsSync(link) ? basename(readlinkSync(link)) : "";
  return device === "" || !existsSync(`/proc/fs/ext4/${device}`) || existsSync(`/proc/fs/jbd2/${device}-8`);
}

/** Median time of a small write with fsync (ms), for which every commit of a database waits. */
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
