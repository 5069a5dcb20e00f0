import { createServer } from "node:net";
import { type ListenAddress, listenAt } from "../../gateway/server.ts";
import { listenFailure } from "./listen.ts";

/**
 * Why an address cannot be listened on, or undefined. Asked before the slow part of a start; the one that listens in the end
 * reports the same again should another program have come first.
 */
export async function portProblem(address: ListenAddress, advice: string): Promise<string | undefined> {
  const probe = createServer();
  const bound = await listenAt(probe, address);
  if (!bound.ok) return listenFailure(address, bound.error, advice);
  await new Promise((closed) => probe.close(closed));
  return undefined;
}
