import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { median } from "../statistics.ts";
import { must } from "./check.ts";
import type { Subject } from "./subject.ts";

/** Source addresses of the attackers. */
const ADDRESSES = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];
const CONNECTIONS_OF_EACH = 190;
/** Pipelined requests to an unauthenticated endpoint with a large response. */
const PIPELINED = "GET /v1/sys/internal/specs/openapi HTTP/1.1\r\nHost: grove\r\n\r\n".repeat(40);
/** Measured requests of the other client. */
const REQUESTS = 30;
/** Limit of the other client's median latency on an idle machine (ms). */
const LIMIT_MS = 100;
/** Limit on a busy machine, as a ratio to the median latency without the attack. */
const LIMIT_FACTOR = 30;

/** How the attackers read: not at all, or one byte per second from each connection. */
type Reading = "nothing" | "a byte a second";

/**
 * Four addresses request large responses and read them slowly or not at all, while a fifth requests `sys/health`.
 *
 * @returns the median and the longest latency of the fifth address
 */
export async function slowReaders(subject: Subject): Promise<string> {
  const quiet = await timesOf(subject);
  const limitMs = Math.max(LIMIT_MS, LIMIT_FACTOR * quiet.median);
  const outcomes = [`median ${quiet.median} ms without the attack`];
  for (const reading of ["nothing", "a byte a second"] as const) {
    const { median, longest } = await readSlowly(subject, reading);
    must(median <= limitMs, `sys/health took ${median} ms while others read ${reading}`);
    outcomes.push(`${median} ms (longest ${longest} ms) while they read ${reading}`);
  }
  return outcomes.join(", ");
}

async function readSlowly(subject: Subject, reading: Reading): Promise<Times> {
  const sockets = ADDRESSES.flatMap((address) =>
    Array.from({ length: CONNECTIONS_OF_EACH }, () => open(subject.port, address)),
  );
  const drip = setInterval(() => {
    if (reading === "a byte a second") for (const socket of sockets) socket.read(1);
  }, 1_000);
  try {
    return await timesOf(subject);
  } finally {
    clearInterval(drip);
    for (const socket of sockets) socket.destroy();
  }
}

/** Latencies of the fifth address (ms). */
interface Times {
  readonly median: number;
  readonly longest: number;
}

async function timesOf(subject: Subject): Promise<Times> {
  const times: number[] = [];
  for (let count = 0; count < REQUESTS; count++) {
    const began = performance.now();
    await subject.answers(200, "GET", "sys/health", { token: "", from: "127.0.0.6" });
    times.push(Math.ceil(performance.now() - began));
    await pause(100);
  }
  return { median: median(times), longest: Math.max(...times) };
}

function open(port: number, localAddress: string): Socket {
  const socket = connect({ host: "127.0.0.1", port, localAddress }).on("error", () => {});
  // A `readable` listener keeps the stream paused, so that only calls of `read` take data.
  socket.on("readable", () => {});
  socket.write(PIPELINED);
  return socket;
}
