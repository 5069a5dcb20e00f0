import type { Socket } from "node:net";
import { flushed, writeMessage } from "./byte-reader.ts";
import type { ShareNetworks } from "./client-shares.ts";
import type { Holding, MemoryBudget } from "./memory-budget.ts";

/** Part of an answer: text before the bytes of the body, and text after them (latin1). */
type Part = readonly [head: string, body: Buffer, end: string];

/**
 * Writes an answer without waiting for the client. What the operating system does not take is held in the budget, and given
 * back as the client reads. Small parts are written one by one, so that the budget sees that the client reads.
 */
export class UnreadAnswer implements Holding {
  readonly networks: ShareNetworks;
  readonly drop: () => void;
  heldBytes = 0;
  /** When the client last took a part (ms on the clock of `performance`); undefined before the first wait for it. */
  actedAt: number | undefined;
  readonly #socket: Socket;
  readonly #budget: MemoryBudget;
  /** Parts that are not written yet. */
  #waiting: Part[] = [];
  #drained: Promise<void> | undefined;

  /** @param drop see {@link Holding} */
  constructor(socket: Socket, budget: MemoryBudget, networks: ShareNetworks, drop: () => void) {
    this.#socket = socket;
    this.#budget = budget;
    this.networks = networks;
    this.drop = drop;
  }

  /** Writes a part after all previous ones. It may drop the answer: then the connection is destroyed. */
  write(head: string, body: Buffer, end: string): void {
    if (this.heldBytes > 0) {
      const part: Part = [head, body, end];
      this.#waiting.push(part);
      this.#budget.grow(this, lengthOf(part));
      return;
    }
    writeMessage(this.#socket, head, body, end);
    const left = this.#socket.writableLength;
    if (left > 0 && this.#budget.grow(this, left)) this.#drained = this.#drain(left);
  }

  /** Resolves when the operating system has taken all of the answer, or the connection is closed. */
  async drained(): Promise<void> {
    await this.#drained;
  }

  /** @param written bytes that the operating system has to take next */
  async #drain(written: number): Promise<void> {
    for (let bytes = written; ; ) {
      this.actedAt = performance.now();
      await flushed(this.#socket);
      if (this.#socket.destroyed) break;
      this.#budget.shrink(this, bytes);
      const next = this.#waiting.shift();
      if (next === undefined) return;
      writeMessage(this.#socket, ...next);
      bytes = lengthOf(next);
    }
    this.#waiting = [];
    this.#budget.end(this);
  }
}

function lengthOf([head, body, end]: Part): number {
  return head.length + body.length + end.length;
}
