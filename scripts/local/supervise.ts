import type { Gateway } from "../../gateway/server.ts";
import type { Result } from "../../src/base/result.ts";
import type { Child } from "./child.ts";

/** What a running server consists of. */
export interface Running {
  readonly gateway: Gateway;
  readonly child: Child;
  /** Called before either is stopped. */
  readonly stopping?: () => void;
  /** Frees what is left when both have ended. */
  readonly close: () => void;
}

/** What differs between the servers that are run here. */
export interface Server<Started extends Running> {
  /** What the child is, for the operator. */
  readonly childName: string;
  /** Starts all of it, unless `asked` comes first. The error is for the operator. */
  readonly start: (asked: Promise<void>) => Promise<Result<Started, string>>;
  /** Says where it listens. */
  readonly announce: (started: Started) => void;
  readonly say: (line: string) => void;
}

/**
 * Runs a server until this process is asked to stop, or the child ends by itself, and then stops the rest: the gateway
 * first, so that requests under way are still answered.
 *
 * @returns the exit code
 */
export async function runServer<Started extends Running>(server: Server<Started>): Promise<number> {
  const { childName, start, announce, say } = server;
  const asked = askedToStop();
  const started = await start(asked);
  if (!started.ok) {
    say(started.error);
    return 1;
  }
  announce(started.value);
  const { gateway, child, stopping, close } = started.value;
  const ended = await Promise.race([asked.then(() => undefined), child.ended]);
  stopping?.();
  await gateway.stop();
  await child.stop();
  close();
  if (ended === undefined) return 0;
  say(`${childName} ended by itself (${ended}); everything is stopped`);
  return 1;
}

/** How often to look whether the parent of this process still lives. */
const PARENT_CHECK_MS = 1000;

/**
 * Resolves when this process is asked to stop: Ctrl-C, SIGTERM, the terminal going away, or the end of the `npm run` that
 * started it, whose shell does not pass a signal on and would leave a server behind.
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
