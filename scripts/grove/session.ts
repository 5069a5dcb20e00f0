import type { GroveClient } from "./client.ts";
import type { Terminal } from "./terminal.ts";

/** What every command works with. */
export interface Session {
  readonly client: GroveClient;
  readonly terminal: Terminal;
  /** Whether results are JSON. */
  readonly json: boolean;
}
