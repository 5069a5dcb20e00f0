import type { Env } from "../../src/env.ts";

/** An environment of which code under test reads nothing but these bindings. */
export function environmentWith(bindings: Partial<Env> & Record<string, unknown>): Env {
  return bindings as Env;
}
