import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { err, ok, type Result } from "../../src/base/result.ts";
import type { Child } from "../local/child.ts";

/** The socket on which a backup asks the server of a data directory to pause. Only the server's user can open it. */
export const PAUSE_SOCKET = "pause.sock";

/** The messages of both sides. */
export const PAUSE_WORDS = { pause: "pause\n", paused: "paused\n", resume: "resume\n", resumed: "resumed\n" } as const;

/** Longest pause (ms). Requests wait during a pause, and the gateway's time limit is longer. */
const MAX_PAUSE_MS = 20_000;

const LOOK_EVERY_MS = 2;
/** Wait on systems without /proc (ms): much longer than a write takes. */
const BLIND_WAIT_MS = 200;

/**
 * Pauses the Worker's process for a backup, so that all files are of one instant. The pause ends when the backup ends it, when its
 * connection closes, and after MAX_PAUSE_MS at the latest. Without `resumed` the backup discards its copy.
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
    // Without the socket there is no online backup, but everything else works.
    this.#server.on("error", (error) => console.error(`serve: no online backups: ${error.message}`));
    this.#server.listen(path);
  }

  /** Ends a pause and accepts no further one. */
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
 * Waits until every thread of a process has stopped after SIGSTOP. The signal alone is not enough: a thread finishes a write that it
 * has begun.
 *
 * @returns false after `maxMs`.
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

/** True for a stopped thread and for one that has ended. The state follows the name in parentheses, which may have any text. */
function isStopped(path: string): boolean {
  try {
    const state = readFileSync(path, "utf8").split(") ").at(-1)?.[0];
    return state === "T" || state === "t" || state === "Z" || state === "X";
  } catch {
    return true;
  }
}

/** How long a server may take to pause (ms). */
const ANSWER_MS = 10_000;

/** A running server that can be paused for a backup. */
export class RunningServer {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** The server that listens at `path`; undefined without one. */
  static async find(path: string): Promise<RunningServer | undefined> {
    const socket = connect(path);
    socket.setEncoding("utf8");
    try {
      await once(socket, "connect");
      return new RunningServer(socket);
    } catch {
      return undefined;
    }
  }

  /**
   * Does synchronous work while the server is paused.
   *
   * @returns the result of `work`; an error when the pause ended before it was done.
   */
  async whilePaused<T>(work: () => T): Promise<Result<T, string>> {
    if ((await this.#say(PAUSE_WORDS.pause)) !== PAUSE_WORDS.paused) {
      return err("the server does not pause: another backup may be under way");
    }
    const done = work();
    if ((await this.#say(PAUSE_WORDS.resume)) === PAUSE_WORDS.resumed) return ok(done);
    return err("the server went on before everything was copied; try again when fewer objects change");
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Sends a message and waits for the answer; undefined when the server closes the connection. */
  async #say(word: string): Promise<string | undefined> {
    const socket = this.#socket;
    if (socket.destroyed) return undefined;
    const answered = new Promise<string | undefined>((resolve) => {
      const late = setTimeout(() => socket.destroy(), ANSWER_MS);
      const end = (answer?: string) => {
        clearTimeout(late);
        resolve(answer);
      };
      socket.once("data", (data) => end(String(data)));
      socket.once("close", () => end());
      socket.once("error", () => end());
    });
    socket.write(word);
    return answered;
  }
}
