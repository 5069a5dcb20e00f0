import type { Gateway } from "../../gateway/server.ts";
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

/**
 * Waits until this process is asked to stop, or the child ends by itself, and then stops the rest: the gateway
 * first, so that requests under way are still answered.
 *
 * @returns how the child ended, when it ended by itself
 */
export async function superviseUntilStopped(
  { gateway, child, stopping, close }: Running,
  asked: Promise<void>,
): Promise<string | undefined> {
  const ended = await Promise.race([asked.then(() => undefined), child.ended]);
  stopping?.();
  await gateway.stop();
  await child.stop();
  close();
  return ended;
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
