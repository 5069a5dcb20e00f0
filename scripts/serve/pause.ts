import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Child } from "../local/child.ts";

/** Where a backup asks the server of a data directory to pause. Only the user of the server can reach it. */
export const PAUSE_SOCKET = "pause.sock";

/** The messages of both sides. */
export const PAUSE_WORDS = { pause: "pause\n", paused: "paused\n", resume: "resume\n", resumed: "resumed\n" } as const;

/** Longest pause: clients wait meanwhile, and those of the gateway are patient for longer than this. */
const MAX_PAUSE_MS = 20_000;

const LOOK_EVERY_MS = 2;
/** The wait (ms) on systems without /proc: much longer than a write that was under way takes. */
const BLIND_WAIT_MS = 200;

/**
 * Pauses the Worker's process for a backup, so that the files of all objects are of one instant. The pause ends when the backup
 * asks for it, when its connection closes, and at the latest after MAX_PAUSE_MS. In the last two cases the backup does not get
 * `resumed`, and discards its copy.
 */
export class Pauses {
  readonly #child: Pick<Child, "pid" | "signal">;
  readonly #path: string;
  readonly #server: Server;
  #holder: Socket | undefined;

  constructor(child: Pick<Child, "pid" | "signal">, path: string, maxPauseMs = MAX_PAUSE_MS) {
    this.#child = child;
    this.#path = path;
    rmSync(path, { force: true });
    this.#server = createServer((socket) => this.#accept(socket, maxPauseMs));
    // Without it there is no online backup, and everything else works.
    this.#server.on("error", (error) => console.error(`serve: no online backups: ${error.message}`));
    this.#server.listen(path);
  }

  /** Ends the pause, if there is one, and accepts no more. */
  close(): void {
    this.#holder?.destroy();
    this.#resume();
    this.#server.close();
    rmSync(this.#path, { force: true });
  }

  #accept(socket: Socket, maxPauseMs: number): void {
    const isHolder = () => this.#holder === socket;
    const release = (): void => {
      if (isHolder()) this.#resume();
    };
    socket.setEncoding("utf8");
    socket.on("error", release);
    socket.on("close", release);
    socket.on("data", (data) => {
      const word = String(data);
      if (word === PAUSE_WORDS.pause && this.#holder === undefined) {
        this.#holder = socket;
        const late = setTimeout(() => socket.destroy(), maxPauseMs);
        socket.once("close", () => clearTimeout(late));
        void this.#stop(socket, maxPauseMs);
      } else if (word === PAUSE_WORDS.resume && isHolder()) {
        this.#resume();
        socket.end(PAUSE_WORDS.resumed);
      } else socket.destroy();
    });
  }

  async #stop(socket: Socket, maxMs: number): Promise<void> {
    this.#child.signal("SIGSTOP");
    const { pid } = this.#child;
    const stopped = pid !== undefined && (await waitUntilStopped(pid, maxMs));
    if (stopped) socket.write(PAUSE_WORDS.paused);
    else socket.destroy();
  }

  #resume(): void {
    if (this.#holder === undefined) return;
    this.#holder = undefined;
    this.#child.signal("SIGCONT");
  }
}

/**
 * Waits until no thread of a process does anything any more after it was sent SIGSTOP. The signal alone is not enough: a thread
 * that is in the middle of a write finishes it first.
 *
 * @returns false when that takes longer than `maxMs`.
 */
async function waitUntilStopped(pid: number, maxMs: number): Promise<boolean> {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) {
    await sleep(BLIND_WAIT_MS);
    return true;
  }
  for (const until = performance.now() + maxMs; performance.now() < until; await sleep(LOOK_EVERY_MS)) {
    if (readdirSync(tasks).every((task) => isStopped(`${tasks}/${task}/stat`))) return true;
  }
  return false;
}

/** A thread that ended meanwhile does nothing either. The state follows the name, which is in brackets and can hold any. */
function isStopped(path: string): boolean {
  try {
    const state = readFileSync(path, "utf8").split(") ").at(-1)?.[0];
    return state === "T" || state === "t" || state === "Z" || state === "X";
  } catch {
    return true;
  }
}
