import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { err, ok, type Result } from "../../src/base/result.ts";
import { PAUSE_WORDS } from "../serve/pause.ts";

/** How long a server may take to pause (ms). */
const ANSWER_MS = 10_000;

/** A server that takes backups while it runs. */
export class RunningServer {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** The server that listens at `path`, or undefined when there is none. */
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
   * Does `work`, which is synchronous, while the server is paused.
   *
   * @returns its result; an error when the pause ended before it.
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
