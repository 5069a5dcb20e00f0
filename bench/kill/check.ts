import { setTimeout as pause } from "node:timers/promises";
import { inPool } from "../../src/base/parallel.ts";
import { type Client, member, type Reply, send, TEAMS } from "../servers/client.ts";
import { readNumber } from "./actions/numbers.ts";
import { type Entry, expectedOf, type Kind, type Ledger, mayContain } from "./ledger.ts";
import type { WriterTokens } from "./writer.ts";

/** Concurrent requests. */
export const PARALLEL = 16;

const MAX_PROBES = 20;
const PROBE_PAUSE_MS = 500;

/** Asks the server whether an object exists. Returns undefined for an unexpected answer. */
type Probe = (root: Client, id: string) => Promise<boolean | undefined>;

const lookUpSelf: Probe = async ({ url }, id) => {
  return isAlive(await send({ url, token: id }, "GET", "v1/auth/token/lookup-self"), 403);
};

const PROBES: Readonly<Record<Kind, Probe>> = {
  token: lookUpSelf,
  "login token": lookUpSelf,
  "role token": lookUpSelf,
  "short-lived token": lookUpSelf,
  "batch token": lookUpSelf,
  async lease(root, id) {
    const answer = await send(root, "POST", "v1/sys/leases/lookup", { lease_id: id });
    // The server still shows a lease whose revocation failed permanently, with `revoke_error`.
    return isAlive(answer, 400) && member(answer.body, "data", "revoke_error") === undefined;
  },
  "wrapped answer": async (root, id) => isAlive(await send(root, "POST", "v1/sys/wrapping/lookup", { token: id }), 400),
  policy: async (root, id) => isAlive(await send(root, "GET", `v1/sys/policies/acl/${id}`), 404),
  team: async (root, id) => isAlive(await send(root, "GET", `${TEAMS}/teams/${id}`), 404),
  "team token": async ({ url }, id) => isAlive(await send({ url, token: id }, "GET", `${TEAMS}/account/details`), 401),
  "access-list entry": async (root, id) =>
    isAlive(await send(root, "GET", `v1/auth/cloud/identity-accesslist/${id}`), 404),
};

/** Compares `entries` and all numbers with the server. Returns a message for each difference from the ledger. */
export async function findBroken(
  root: Client,
  ledger: Ledger,
  entries: readonly Entry[],
  kept: ReadonlyMap<string, WriterTokens>,
): Promise<string[]> {
  await readBack(root, ledger);
  const broken: string[] = [];
  await inPool([...new Set(entries)], PARALLEL, async (entry) => {
    const expected = expectedOf(entry);
    if (expected === "unknown") return;
    const found = await probed(root, entry);
    if (found === undefined) broken.push(`the look-up of a ${entry.kind} has an unexpected answer`);
    else if (found !== (expected === "alive")) broken.push(`a ${entry.kind} that must be ${expected} is not`);
  });
  await inPool([...ledger.numbers], PARALLEL, async ([name, number]) => {
    const found = await readNumber(root, name, kept);
    if (!mayContain(number, found)) {
      broken.push(
        `${name}: stored value ${found}, last answered write ${number.answered}, last sent write ${number.sent}`,
      );
    }
    number.sent = found;
    number.answered = found;
  });
  return broken;
}

/** Repeats the probe while its answer is unexpected: a server that is busy with other clients answers 503. */
async function probed(root: Client, { kind, id }: Entry): Promise<boolean | undefined> {
  for (let tries = 1; ; tries++) {
    const found = await PROBES[kind](root, id);
    if (found !== undefined || tries === MAX_PROBES) return found;
    await pause(PROBE_PAUSE_MS);
  }
}

/**
 * Resolves entries in the state "sent" by reading them from the server.
 * The result is final: the server has restarted, so no such request is in flight.
 * Parents come first, because the end of a parent may be the reason that a token is missing.
 */
async function readBack(root: Client, ledger: Ledger): Promise<void> {
  for (const entry of ledger.entries) {
    if (entry.ending !== "sent") continue;
    if (entry.parent && expectedOf(entry.parent) === "dead") continue;
    const found = await probed(root, entry);
    if (found !== undefined) entry.ending = found ? "none" : "answered";
  }
}

/** Interprets the status of a look-up: true for 200, false for `otherwise`, undefined for any other status. */
function isAlive({ status }: Reply, otherwise: number): boolean | undefined {
  return status === 200 ? true : status === otherwise ? false : undefined;
}
