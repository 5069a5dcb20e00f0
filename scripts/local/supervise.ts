import type { Gateway } from "../../gateway/server.ts";
import type { Child } from "./child.ts";

/** What a running server consists of. */
export interface Running {
  readonly gateway: Gateway;
  readonly child: Child;
  /** Frees what is left when both have ended. */
  readonly close: () => void;
}

/**
 * Waits until somebody asks this process to stop, or the child ends by itself, and then stops the rest: the gateway
 * first, so that requests under way are still answered.
 *
 * @returns how the child ended, when nobody asked it to
 */
export async function superviseUntilStopped(
  { gateway, child, close }: Running,
  asked: Promise<void>,
): Promise<string | undefined> {
  const ended = await Promise.race([asked.then(() => undefined), child.ended]);
  await gateway.stop();
  await child.stop();
  close();
  return ended;
}

/** Resolves when this process is asked to stop: Ctrl-C, SIGTERM, or the terminal going away. */
export function askedToStop(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve());
  });
}
