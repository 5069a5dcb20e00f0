import { createServer } from "node:net";
import { join } from "node:path";
import { onPort, waitUntilAnswers } from "../../local/answers.ts";
import { Child } from "../../local/child.ts";
import type { Place } from "../load/place.ts";
import { type Usage, usageOf } from "./usage.ts";

/** The gateway, in a process of its own. */
export interface GatewayProcess {
  readonly place: Place;
  /** Memory and CPU time so far. */
  usage(): Usage;
  stop(): Promise<void>;
}

/** The limits of Node's heap that `npm run gateway` and `npm run serve` have. */
export const HEAP_FLAGS = ["--max-semi-space-size=4", "--max-old-space-size=96"];

/** Starts the gateway in front of a server. */
export async function startGatewayProcess(upstream: string): Promise<GatewayProcess> {
  const port = await freePort();
  const child = new Child({
    command: process.execPath,
    args: [...HEAP_FLAGS, join(import.meta.dirname, "gateway-process.ts"), upstream, String(port)],
    env: process.env,
    output: "pipe",
  });
  for (const stream of child.streams) stream.resume();
  if (!(await waitUntilAnswers(onPort(port), child.ended, 30_000))) {
    throw new Error("the gateway does not answer");
  }
  return {
    place: { kind: "tcp", host: "127.0.0.1", port, tls: false },
    usage: () => usageOf(child.pid ?? 0),
    stop: () => child.stop(),
  };
}

/** A port that nobody listens on now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}
