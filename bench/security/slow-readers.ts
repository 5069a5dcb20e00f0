import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { median } from "../statistics.ts";
import { must } from "./check.ts";
import type { Subject } from "./subject.ts";

const ADDRESSES = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];
const CONNECTIONS_OF_EACH = 190;
/** An open endpoint with a long answer, asked for many times on each connection. */
const PIPELINED = "GET /v1/sys/internal/specs/openapi HTTP/1.1\r\nHost: grove\r\n\r\n".repeat(40);
const ASKED = 30;
/** What a fifth client waits at most on a quiet machine, as the median. */
const LIMIT_MS = 100;
/** On a machine that is busy with other work every request takes long: then so many times what it takes without the attack. */
const LIMIT_FACTOR = 30;

/** How the attacker reads: never, or one byte a second of each connection. */
type Reading = "nothing" | "a byte a second";

/**
 * Four addresses ask for much and read little of it, while a fifth asks for the health of the server.
 *
 * @returns the median and the longest time of the fifth
 */
export async function slowReaders(subject: Subject): Promise<string> {
  const quiet = await timesOf(subject);
  const limitMs = Math.max(LIMIT_MS, LIMIT_FACTOR * quiet.median);
  const outcomes = [`${quiet.median} ms without them`];
  for (const reading of ["nothing", "a byte a second"] as const) {
    const { median, longest } = await readSlowly(subject, reading);
    must(median <= limitMs, `sys/health took ${median} ms while others read ${reading}`);
    outcomes.push(`${median} (at most ${longest}) while they read ${reading}`);
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

/** Milliseconds of requests of the fifth address. */
interface Times {
  readonly median: number;
  readonly longest: number;
}

async function timesOf(subject: Subject): Promise<Times> {
  const times: number[] = [];
  for (let count = 0; count < ASKED; count++) {
    const began = performance.now();
    await subject.answers(200, "GET", "sys/health", { token: "", from: "127.0.0.6" });
    times.push(Math.ceil(performance.now() - began));
    await pause(100);
  }
  return { median: median(times), longest: Math.max(...times) };
}

function open(port: number, localAddress: string): Socket {
  const socket = connect({ host: "127.0.0.1", port, localAddress }).on("error", () => {});
  // Without a listener for data nothing is read but what `read` takes.
  socket.on("readable", () => {});
  socket.write(PIPELINED);
  return socket;
}
