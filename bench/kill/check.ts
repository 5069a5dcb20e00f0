import { inPool } from "../../src/base/parallel.ts";
import { type Client, member, type Reply, send, TEAMS } from "../servers/client.ts";
import { readNumber } from "./actions/numbers.ts";
import { type Entry, expectedOf, type Kind, type Ledger, mayContain } from "./ledger.ts";
import type { Kept } from "./writer.ts";

/** Requests in flight. */
export const PARALLEL = 16;

/** Asks the server whether something exists; undefined for any other answer. */
type Probe = (root: Client, id: string) => Promise<boolean | undefined>;

const lookUpSelf: Probe = async ({ url }, id) => {
  return isAlive(await send({ url, token: id }, "GET", "v1/auth/token/lookup-self"), 403);
};

const PROBES: Readonly<Record<Kind, Probe>> = {
  token: lookUpSelf,
  "login token": lookUpSelf,
  "role token": lookUpSelf,
  "passing token": lookUpSelf,
  "batch token": lookUpSelf,
  async lease(root, id) {
    const answer = await send(root, "POST", "v1/sys/leases/lookup", { lease_id: id });
    // A lease whose revocation failed permanently is still shown, with the error.
    return isAlive(answer, 400) && member(answer.body, "data", "revoke_error") === undefined;
  },
  "wrapped answer": async (root, id) => isAlive(await send(root, "POST", "v1/sys/wrapping/lookup", { token: id }), 400),
  policy: async (root, id) => isAlive(await send(root, "GET", `v1/sys/policies/acl/${id}`), 404),
  team: async (root, id) => isAlive(await send(root, "GET", `${TEAMS}/teams/${id}`), 404),
  "team token": async ({ url }, id) => isAlive(await send({ url, token: id }, "GET", `${TEAMS}/account/details`), 401),
  "access-list entry": async (root, id) =>
    isAlive(await send(root, "GET", `v1/auth/cloud/identity-accesslist/${id}`), 404),
};

/** Compares `entries` and all numbers with the server. Returns a sentence for each that differs from what was answered. */
export async function findBroken(
  root: Client,
  ledger: Ledger,
  entries: readonly Entry[],
  kept: ReadonlyMap<string, Kept>,
): Promise<string[]> {
  await readBack(root, ledger);
  const broken: string[] = [];
  await inPool([...new Set(entries)], PARALLEL, async (entry) => {
    const expected = expectedOf(entry);
    if (expected === "unknown") return;
    const found = await PROBES[entry.kind](root, entry.id);
    if (found === undefined) broken.push(`whether a ${entry.kind} is there gets no clear answer`);
    else if (found !== (expected === "alive")) broken.push(`a ${entry.kind} that must be ${expected} is not`);
  });
  await inPool([...ledger.numbers], PARALLEL, async ([name, number]) => {
    const found = await readNumber(root, name, kept);
    if (!mayContain(number, found)) {
      broken.push(`${name}: ${found} is there, ${number.answered} was answered, ${number.sent} sent`);
    }
    number.sent = found;
    number.answered = found;
  });
  return broken;
}

/**
 * Reads back the writes without an answer. None is under way any more, so what is found now must not change later. In the order of the
 * ledger, because a missing token says nothing while the end of its parent is unknown.
 */
async function readBack(root: Client, ledger: Ledger): Promise<void> {
  for (const entry of ledger.entries) {
    if (entry.ending !== "sent") continue;
    if (entry.parent && expectedOf(entry.parent) === "dead") continue;
    const found = await PROBES[entry.kind](root, entry.id);
    if (found !== undefined) entry.ending = found ? "none" : "answered";
  }
}

function isAlive({ status }: Reply, otherwise: number): boolean | undefined {
  return status === 200 ? true : status === otherwise ? false : undefined;
}
