import { type ChildProcessByStdio, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { LoadJob, LoadResult } from "./run.ts";

/** The load client, in a process of its own that serves one job after the other. */
export class LoadProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  /** Takes the result of the job under way, null when the process has ended. */
  #settle: (line: string | null) => void = () => {};

  constructor() {
    this.#child = spawn(process.execPath, [join(import.meta.dirname, "main.ts")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#settle(line));
    this.#child.on("exit", () => this.#settle(null));
  }

  /** Runs a load. One at a time: a second would slow the first. */
  async run(job: LoadJob): Promise<LoadResult> {
    const result = new Promise<string | null>((resolve) => {
      this.#settle = resolve;
    });
    this.#child.stdin.write(`${JSON.stringify(job)}\n`);
    const line = await result;
    if (line === null) throw new Error("the load client ended by itself");
    return JSON.parse(line) as LoadResult;
  }

  /** Ends the process. */
  stop(): void {
    this.#child.stdin.end();
  }
}
