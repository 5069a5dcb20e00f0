import { addressText } from "../../local/listen-address.ts";
import type { WorkerdCluster } from "../workerd-config.ts";

/** Interval of a node's reports (ms). Health counts a node as gone after three times this long. */
const INTERVAL_MS = 60_000;

/** Reports to the installation that this node is up, or leaves on purpose. */
export interface Presence {
  /** Reports that the node stops, so that Health does not miss it. */
  leave(): void;
}

/**
 * Reports a node once a minute, for the list of nodes on Health.
 *
 * @param ask sends a GET to the Worker of this node. A failed report is skipped.
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

/** The name of a node: the address at which other nodes reach it. */
export function nodeName({ listen, advertise }: Pick<WorkerdCluster, "listen" | "advertise">): string {
  return addressText(advertise ?? listen);
}
