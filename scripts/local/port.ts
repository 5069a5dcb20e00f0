import { createServer } from "node:net";
import type { ListenAddress } from "../../gateway/server.ts";
import { listenFailure } from "./listen.ts";

/**
 * Why an address cannot be listened on, or undefined. Asked before the slow part of a start; the one that listens in the end
 * reports the same again should another program have come first.
 */
export function portProblem(address: ListenAddress, advice: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => {
      resolve(listenFailure(address, error.code ?? error.message, advice));
    });
    probe.listen(address.port, address.host, () => probe.close(() => resolve(undefined)));
  });
}
