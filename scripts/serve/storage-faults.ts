import { type StatsFs, statfsSync } from "node:fs";
import { join } from "node:path";
import type { Ms } from "../../src/base/clock.ts";
import { helpAsCalled } from "../local/command-line.ts";
import { type DamagedDatabase, damagedDatabases, shownDatabase } from "./damaged-databases.ts";

/** A fault of the disk is explained once in this time, however many lines workerd writes about it. */
const SAID_EVERY: Ms = 60_000;

const runbook = (section: string): string => helpAsCalled(`docs/runbook.md, ${section}`);

/** Codes of SQLite in the output of workerd. */
const FULL = /\bSQLITE_(?:FULL|IOERR_SHMSIZE)\b/;
const DAMAGED = /\bSQLITE_(?:CORRUPT\w*|NOTADB)\b/;

/** Most damaged databases that are named in a line. */
const MAX_NAMED = 5;

/** With less the next write may fail again. */
const ENOUGH_BYTES = 1024 * 1024;

export function isEnough({ bavail, bsize }: Pick<StatsFs, "bavail" | "bsize">): boolean {
  return bavail * bsize >= ENOUGH_BYTES;
}

const hasSpace = (data: string): boolean => isEnough(statfsSync(data));

/** Time between two looks for space on a full disk. */
const LOOK_EVERY: Ms = 2_000;

function repeat(work: () => void): () => void {
  const timer = setInterval(work, LOOK_EVERY).unref();
  return () => clearInterval(timer);
}

/** How faults of a server's disk are detected and reported. */
export interface FaultsOptions {
  /** The path of the data. */
  readonly data: string;
  /** Gets a line of workerd. */
  readonly show: (line: string) => void;
  /** Gets a line for the operator. */
  readonly say: (line: string) => void;
  /** Reports to the Worker, for Health: calls this path and query of its entrypoint for the cron trigger. */
  readonly report: (path: string) => Promise<unknown>;
  /** True when the disk of the data has space. */
  readonly hasSpace?: (data: string) => boolean;
  /** Repeats work from time to time, and returns what ends that. */
  readonly repeat?: (work: () => void) => () => void;
  readonly find?: (objects: string) => Promise<readonly DamagedDatabase[]>;
  readonly now?: () => Ms;
}

/**
 * Follows workerd's standard error. Of the lines about one fault of the disk, only the first in a minute is shown,
 * followed by what it means: workerd does not say which database is damaged, so they are checked.
 */
export class StorageFaults {
  readonly #options: Required<FaultsOptions>;
  readonly #said = new Map<RegExp, Ms>();
  /** What was reported, by fault. */
  readonly #reported = new Map<RegExp, string>();
  #work: Promise<unknown> = Promise.resolve();
  /** Ends the look for space while the disk is full. */
  #stopLooking: (() => void) | null = null;

  constructor(options: FaultsOptions) {
    this.#options = { find: damagedDatabases, hasSpace, repeat, now: Date.now, ...options };
  }

  /** Takes a line of workerd. */
  readonly follow = (line: string): void => {
    const { show, now } = this.#options;
    const fault = [FULL, DAMAGED].find((code) => code.test(line));
    if (fault === FULL) this.#noteFull();
    if (fault && now() - (this.#said.get(fault) ?? Number.NEGATIVE_INFINITY) < SAID_EVERY) return;
    show(line);
    if (!fault) return;
    this.#said.set(fault, now());
    // The checks follow each other, so that none runs twice at the same time.
    if (fault === FULL) this.#sayFull();
    else this.#work = this.#work.then(() => this.#sayDamaged());
  };

  /** Reports again what was found before the Worker accepted reports. */
  reportAgain(): void {
    this.#work = this.#work.then(() => Promise.all([...this.#reported.values()].map(this.#options.report)));
  }

  /** Waits until everything is said. */
  async settled(): Promise<void> {
    await this.#work;
  }

  #sayFull(): void {
    const { data, say } = this.#options;
    say(`the disk of ${data} is full: writes are answered 503 until there is space (${runbook("The disk is full")})`);
  }

  /** Reports to the Worker that the disk is full, and when it has space again. */
  #noteFull(): void {
    if (this.#stopLooking !== null) return;
    const { data, say, hasSpace, repeat } = this.#options;
    const tell = (path: string) => {
      this.#work = this.#work.then(() => this.#report(FULL, path));
    };
    tell("/storage-faults?full=true");
    this.#stopLooking = repeat(() => {
      if (!hasSpace(data)) return;
      this.#stopLooking?.();
      this.#stopLooking = null;
      say(`the disk of ${data} has space again`);
      tell("/storage-faults?full=false");
    });
  }

  async #sayDamaged(): Promise<unknown> {
    const { data, say, find } = this.#options;
    const damaged = await find(join(data, "objects"));
    const way = `requests that need it fail. Stop the server and restore a backup from before the damage (${runbook("A database is damaged")})`;
    if (damaged.length === 0) {
      say(`a database in ${data} is damaged, and a check of all has not found which: ${way}`);
      return;
    }
    const names = damaged.slice(0, MAX_NAMED).map(({ file, problem }) => `${file} (${problem})`);
    const others = damaged.length - names.length;
    say(`damaged: ${names.join(", ")}${others > 0 ? ` and ${others} others` : ""}; ${way}`);
    const query = new URLSearchParams(damaged.map((one) => ["damaged", shownDatabase(one)]));
    return this.#report(DAMAGED, `/storage-faults?${query}`);
  }

  #report(fault: RegExp, path: string): Promise<unknown> {
    this.#reported.set(fault, path);
    return this.#options.report(path);
  }
}
