import type { Gateway } from "../../gateway/server.ts";
import type { Result } from "../../src/base/result.ts";
import type { Child } from "./child.ts";

/** The parts of a running server. */
export interface Running {
  readonly gateway: Gateway;
  readonly child: Pick<Child, "ended" | "stop" | "kill">;
  /** Called before either is stopped, and awaited: requests are still served meanwhile. */
  readonly stopping?: () => Promise<void> | void;
  /** Frees resources after both have ended. */
  readonly close: () => void;
}

/** How a server is started and announced. */
export interface Server<Started extends Running> {
  /** The name of the child process, for the operator. */
  readonly childName: string;
  /** Starts the server, unless `asked` resolves first. The error is for the operator. */
  readonly start: (asked: Promise<void>) => Promise<Result<Started, string>>;
  /** Prints the address. */
  readonly announce: (started: Started) => void;
  readonly say: (line: string) => void;
}

/** Time limit of the whole stop (ms). The gateway's `stopMs` and the time of the child are less together. */
const HARD_END_MS = 15_000;

/**
 * Runs a server until this process is asked to stop or the child ends. Stops the gateway first, so that requests under way are still
 * answered. After HARD_END_MS the child is killed, and the caller has to end the process: answered writes are on disk already.
 *
 * @param asked resolves when the server has to stop
 * @returns the exit code
 */
export async function runServer<Started extends Running>(
  server: Server<Started>,
  asked: Promise<void> = askedToStop(),
  hardEndMs: number = HARD_END_MS,
): Promise<number> {
  const { childName, start, announce, say } = server;
  const started = await start(asked);
  if (!started.ok) {
    say(started.error);
    return 1;
  }
  announce(started.value);
  const { gateway, child, stopping, close } = started.value;
  const ended = await Promise.race([asked.then(() => undefined), child.ended]);
  const { promise: givenUp, resolve: giveUp } = Promise.withResolvers<void>();
  const hardEnd = setTimeout(() => {
    say(`not everything has ended in time; ${childName} is killed`);
    child.kill();
    giveUp();
  }, hardEndMs);
  const stop = async (): Promise<void> => {
    await stopping?.();
    await gateway.stop();
    await child.stop();
  };
  await Promise.race([stop(), givenUp]);
  clearTimeout(hardEnd);
  close();
  if (ended === undefined) return 0;
  say(`${childName} ended by itself (${ended}); everything is stopped`);
  return 1;
}

/** Interval of checks whether the parent process still runs (ms). */
const PARENT_CHECK_MS = 1000;

/**
 * Resolves when this process is asked to stop: by Ctrl-C, SIGTERM, a closed terminal, or the end of the `npm run` that started it, whose
 * shell passes no signal on.
 */
export function askedToStop(): Promise<void> {
  const parent = process.ppid;
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve());
    if (process.env.npm_lifecycle_event === undefined) return;
    setInterval(() => {
      if (process.ppid !== parent) resolve();
    }, PARENT_CHECK_MS).unref();
  });
}
