import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { percentile } from "../statistics.ts";
import { type Checks, must } from "./check.ts";
import type { Subject } from "./subject.ts";

const ATTACKERS = Array.from({ length: 40 }, (_, at) => `127.0.2.${at + 1}`);
const CONNECTIONS_OF_EACH = 8;
const REQUEST = "GET /v1/sys/internal/specs/openapi HTTP/1.1\r\nHost: grove\r\n\r\n";
const PIPELINED = 40;
/**
 * Duration of the attack (ms): longer than the gateway keeps an unread answer of this size, so that it cuts connections.
 */
const ATTACK_MS = 100_000;
/** Interval of the other clients' requests (ms). */
const BETWEEN_MS = 250;
/** Number of requests that are measured without the attack. */
const QUIET_REQUESTS = 80;
/** Limit of the other clients' latency on an idle machine (ms). One request in a hundred may exceed it. */
const LIMIT_MS = 100;
/** Limit on a busy machine, as a ratio to the latency without the attack. */
const LIMIT_FACTOR = 10;

/** Attacks by clients that send many requests and read no answers. */
export const UNREAD_ANSWERS: Checks = { "3.4 forty addresses that read no answer": unreadAnswers };

/**
 * Forty addresses request a large document on eight connections each, read nothing, and reconnect when they are cut off.
 * Meanwhile, other clients request `sys/health`, each from a new address.
 *
 * @returns the latencies of the other clients
 */
async function unreadAnswers(subject: Subject): Promise<string> {
  const quiet = await latencies(subject, (count) => count < QUIET_REQUESTS);
  const attack = new Attack(subject.port);
  const end = performance.now() + ATTACK_MS;
  try {
    const times = await latencies(subject, () => performance.now() < end);
    const limitMs = Math.max(LIMIT_MS, LIMIT_FACTOR * percentile(quiet, 0.99));
    const measured = `${describe(times)}; without the attack ${describe(quiet)}; ${attack.opened} connections`;
    must(percentile(times, 0.99) <= limitMs, `${measured}; the limit is ${limitMs} ms`);
    return measured;
  } finally {
    attack.end();
  }
}

/** Sends sequential requests, each from another address, while `goesOn` returns true. Returns sorted latencies (ms). */
async function latencies(subject: Subject, goesOn: (count: number) => boolean): Promise<Float64Array> {
  const times: number[] = [];
  while (goesOn(times.length)) {
    const from = `127.0.${3 + Math.floor(times.length / 250)}.${(times.length % 250) + 1}`;
    const began = performance.now();
    await subject.answers(200, "GET", "sys/health", { token: "", from });
    times.push(Math.ceil(performance.now() - began));
    await pause(BETWEEN_MS);
  }
  return Float64Array.from(times).sort();
}

function describe(times: Float64Array): string {
  const [middle, most, longest] = [0.5, 0.99, 1].map((part) => percentile(times, part));
  return `median ${middle} ms, p99 ${most} ms, longest ${longest} ms of ${times.length}`;
}

/** The connections of the attackers. */
class Attack {
  /** Number of opened connections, including reconnections. */
  opened = 0;
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  readonly #writing: NodeJS.Timeout;
  #ended = false;

  constructor(port: number) {
    this.#port = port;
    for (const address of ATTACKERS) for (let n = 0; n < CONNECTIONS_OF_EACH; n++) this.#open(address);
    // A client that does not read notices that its connection was cut when it writes.
    this.#writing = setInterval(() => {
      for (const socket of this.#sockets) socket.write(REQUEST);
    }, 1_000);
  }

  end(): void {
    this.#ended = true;
    clearInterval(this.#writing);
    for (const socket of this.#sockets) socket.destroy();
  }

  #open(localAddress: string): void {
    const socket = connect({ host: "127.0.0.1", port: this.#port, localAddress }).on("error", () => {});
    this.opened++;
    this.#sockets.add(socket);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      if (!this.#ended) this.#open(localAddress);
    });
    socket.write(REQUEST.repeat(PIPELINED));
  }
}
