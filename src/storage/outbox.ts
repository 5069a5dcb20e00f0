import { currentTime, type Ms } from "../base/clock.ts";
import { MAX_PARALLEL_CALLS } from "../base/parallel.ts";

/** Maximum number of messages that one alarm sends. */
const PER_ALARM = 60;

/** The table of an outbox and the way to its target. `attempts` of a message includes the current attempt. */
interface OutboxParts<M extends { readonly attempts: number }, Result> {
  /** Pause after the first attempt, see `retryDelayMs`. */
  readonly pauseMs: Ms;
  readonly timeoutMs: Ms;
  /** The messages that are due at `now`, at most `limit`, the longest waiting first. */
  due(now: Ms, limit: number): readonly M[];
  /** Stores the number of an attempt and when the next one is due. Returns null when the message does not wait. */
  claim(message: M, attempts: number, nextAt: Ms): M | null;
  /** Makes one attempt for each of a few messages. Deletes the messages that were delivered or given up. */
  send(messages: readonly M[]): Promise<readonly Result[]>;
}

/**
 * Sends messages that an object stored with the change that they are about, each at least once. An attempt is counted
 * before it is made, and the next one is due after the end of the call, so the alarm does not send the same message
 * meanwhile. The object serves other requests during an attempt, so `send` reads a message again before it ends it.
 */
export class Outbox<M extends { readonly attempts: number }, Result> {
  readonly #parts: OutboxParts<M, Result>;

  constructor(parts: OutboxParts<M, Result>) {
    this.#parts = parts;
  }

  /** Sends due messages, at most `PER_ALARM`. */
  sendDue(): Promise<Result[]> {
    return this.send(this.#parts.due(currentTime(), PER_ALARM));
  }

  /** Sends messages now, whether they are due or not, each once. Leaves out messages that do not wait any more. */
  async send(messages: readonly M[]): Promise<Result[]> {
    const { pauseMs, timeoutMs } = this.#parts;
    const now = currentTime();
    const claimed = messages.flatMap((message, at) => {
      const attempts = message.attempts + 1;
      const waitsMs = Math.floor(at / MAX_PARALLEL_CALLS) * timeoutMs;
      const nextAt = now + waitsMs + retryDelayMs(attempts, pauseMs, Math.random());
      return this.#parts.claim(message, attempts, nextAt) ?? [];
    });
    const results: Result[] = [];
    for (let at = 0; at < claimed.length; at += MAX_PARALLEL_CALLS) {
      results.push(...(await this.#parts.send(claimed.slice(at, at + MAX_PARALLEL_CALLS))));
    }
    return results;
  }
}

/**
 * The pause after an attempt (ms): `baseMs` after the first, and doubled with each further one. A jitter of up to half
 * of it (`random`, from 0 to 1) spreads the retries of messages that failed at the same time.
 */
export function retryDelayMs(attempts: number, baseMs: Ms, random: number): Ms {
  return Math.round(baseMs * 2 ** (attempts - 1) * (0.5 + random));
}
