import { setTimeout as pause } from "node:timers/promises";
import type { ListenAddress } from "../../../gateway/server.ts";
import { waitUntilAnswers } from "../../local/wait-until-answers.ts";
import type { PreparedWorker } from "../prepare-worker.ts";
import { watchClock } from "./clock-watch.ts";
import { ownAddress } from "./node-settings.ts";
import { askWorkerd, Readiness } from "./readiness.ts";
import { WorkerSupervisor } from "./worker-supervisor.ts";

/**
 * Time from the last change that this node's objects accept to the hand-over (ms), in which changes that have begun are
 * completed. It is shorter than the time for which callers repeat lost calls.
 */
const DRAIN_MS = 700;

/** How long workerd may take to answer (ms): a start after a long stop waits for leases. */
const ANSWER_MS = 120_000;

/**
 * From the first `not ready` to the hand-over, and from there to the last accepted request (ms), so that load balancers notice.
 */
const LEAD_MS = 3_000;
const HAND_OVER_MS = 4_000;

/** A line of workerd that may be the cause of its end. */
const REPORTED = /(?:fatal|exception|error|fenced|lease)/i;
const MAX_ERROR_LENGTH = 300;

/** The workerd of a node. */
export interface ClusterNode {
  readonly worker: WorkerSupervisor;
  /** Resolves to true when this node may get requests. */
  readonly isReady: () => Promise<boolean>;
  /** Makes load balancers use other nodes, and hands over the objects. Resolves when no more requests should be accepted. */
  handOver(): Promise<void>;
}

/** Remembers the last error that workerd reported. */
export class LastError {
  #line = "";

  note(line: string): void {
    if (REPORTED.test(line)) this.#line = line.slice(0, MAX_ERROR_LENGTH);
  }

  /** Returns the last error, and forgets it. */
  take(): string {
    const line = this.#line;
    this.#line = "";
    return line;
  }
}

/** Starts the workerd of a node, and keeps it running. */
export function startNode(given: {
  readonly prepared: PreparedWorker;
  readonly socket: string;
  /** The node's cluster port. */
  readonly listen: ListenAddress;
  readonly timeDivisor: number;
  readonly lastError: LastError;
  /** Tells the Worker that its objects are about to be handed over. */
  readonly leave: () => Promise<unknown>;
  readonly say: (line: string) => void;
}): ClusterNode {
  const { prepared, socket, listen, timeDivisor, lastError, leave, say } = given;
  let isLeaving = false;
  const worker = new WorkerSupervisor({
    start: () => prepared.start(),
    answers: async (ended) => {
      const isUp = await waitUntilAnswers({ kind: "socket", path: socket }, ended, ANSWER_MS);
      prepared.forgetConfig();
      return isUp;
    },
    lastError: () => lastError.take(),
    pause: (ms) => pause(ms),
    say,
  });
  const stopWatching = watchClock((ms) => {
    say(
      `the clock was set back by ${Math.round(ms)} ms: workerd is started again, as it can't tell how old its copies are`,
    );
    worker.restart();
  });
  void worker.ended.then(stopWatching);
  const readiness = new Readiness(
    () => worker.isUp && !isLeaving,
    () => askWorkerd(ownAddress(listen)),
  );
  return {
    worker,
    isReady: () => readiness.read(),
    async handOver() {
      isLeaving = true;
      say("not ready: balancers may look elsewhere");
      await pause(LEAD_MS / timeDivisor);
      say("handing the objects to the other nodes");
      // A Worker that does not answer in time accepts no change either, so the hand-over does not wait for it.
      await Promise.race([leave(), pause(DRAIN_MS)]);
      await pause(DRAIN_MS / timeDivisor);
      worker.handOver();
      await pause(HAND_OVER_MS / timeDivisor);
    },
  };
}
