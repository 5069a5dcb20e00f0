import { addressText } from "../../local/listen-address.ts";
import type { WorkerdCluster } from "../workerd-config.ts";

/** Between two reports of a node (ms). Health takes a node for gone that is silent for three times as long. */
const INTERVAL_MS = 60_000;

/** Tells the installation that this node is up, and that it leaves on purpose. */
export interface Presence {
  /** The node stops: it is not missed any more. */
  leave(): void;
}

/**
 * Reports a node once a minute, for the list of nodes on Health.
 *
 * @param ask sends a GET to the Worker of this node. A report that fails is left out.
 */
export function startPresence(name: string, ask: (path: string) => Promise<unknown>): Presence {
  const query = new URLSearchParams({ node: name });
  const report = (): void => void ask(`/up?${query}`);
  report();
  const timer = setInterval(report, INTERVAL_MS);
  return {
    leave: () => {
      clearInterval(timer);
      void ask(`/left?${query}`);
    },
  };
}

/** The name of a node: the address where the others reach it. */
export function nodeName({ listen, advertise }: Pick<WorkerdCluster, "listen" | "advertise">): string {
  return addressText(advertise ?? listen);
}
