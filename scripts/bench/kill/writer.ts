import { LEASE_ACTIONS } from "./actions/leases.ts";
import { LOGIN_ACTIONS } from "./actions/logins.ts";
import { NUMBER_ACTIONS } from "./actions/numbers.ts";
import { OTHER_ACTIONS } from "./actions/others.ts";
import { TEAM_ACTIONS } from "./actions/teams.ts";
import { TOKEN_ACTIONS } from "./actions/tokens.ts";
import type { Action, WriterClient } from "./writer-client.ts";

const ACTIONS: readonly Action[] = [
  ...TOKEN_ACTIONS,
  ...LEASE_ACTIONS,
  ...LOGIN_ACTIONS,
  ...TEAM_ACTIONS,
  ...OTHER_ACTIONS,
  ...NUMBER_ACTIONS,
];

/** Does one thing after the other, drawn at random, until one is not answered or `stopped` says so. */
export async function write(writer: WriterClient, stopped: () => boolean): Promise<void> {
  while (!stopped()) {
    const action = ACTIONS[Math.floor(writer.random() * ACTIONS.length)];
    if (!(await action?.(writer))) return;
  }
}
