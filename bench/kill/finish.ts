import { setTimeout as pause } from "node:timers/promises";
import { inPool } from "../../src/base/parallel.ts";
import { ask, type Client, member, send, TEAMS, texts } from "../servers/client.ts";
import { LEASE_FOLDER } from "./actions/others.ts";
import { PARALLEL } from "./check.ts";
import { type Environment, ORGANIZATION } from "./environment.ts";
import { type Entry, expectedOf, type Ledger } from "./ledger.ts";

/** Time limit for background work (ms). A revocation that several kills interrupted is retried after minutes. */
const MAX_WAIT_MS = 300_000;
/** Interval of polls (ms). */
const POLL_MS = 1_000;

/** Parameters of the checks at the end of a run. */
export interface Finish {
  readonly root: Client;
  readonly ledger: Ledger;
  readonly environment: Environment;
}

/** Waits until all background work has ended. Returns a message for each part that has not. */
export async function waitForPromises(finish: Finish): Promise<string[]> {
  const { root, ledger } = finish;
  const until = performance.now() + MAX_WAIT_MS;
  const settled = async (open: (finish: Finish) => Promise<string[]>): Promise<string[]> => {
    for (;;) {
      const left = await open(finish);
      if (left.length === 0 || performance.now() > until) return left;
      await pause(POLL_MS);
    }
  };
  // A running tidy may have processed an object before its last change, so a second run is necessary.
  const open = await settled(runningTidy);
  await send(root, "POST", "v1/auth/token/tidy");
  // If the update with the first token of a new tree was lost, the shard asks the tree for it after a minute.
  for (const work of [runningTidy, openLeases, unlistedTokens]) open.push(...(await settled(work)));
  for (const entry of ledger.entries) if (entry.ending === "promised") entry.ending = "answered";
  return open;
}

/** Finds ended leases whose revocation was not sent, and leases that still exist although their token has ended. */
async function openLeases({ root, ledger, environment }: Finish): Promise<string[]> {
  const given = await ask(root, "GET", "v1/sys/leases?type=irrevocable&limit=none");
  const leases = member(given, "data", "leases");
  const irrevocable = new Set(Array.isArray(leases) ? leases.map((lease) => member(lease, "lease_id")) : []);
  const open: string[] = [];
  for (const entry of ledger.entries) {
    if (entry.kind !== "lease" || !hasEnded(entry)) continue;
    if (!environment.engine.asked.has(entry.id) && !irrevocable.has(entry.id)) {
      open.push("a lease has ended and its revocation was not sent");
    }
  }
  // This includes leases whose registration was not answered: their path identifies the holder.
  const [above = "", stem = ""] = LEASE_FOLDER.split("/");
  await inPool(await names(root, `v1/sys/leases/lookup/${above}/`), PARALLEL, async (folder) => {
    const holder = ledger.entries[Number(folder.slice(stem.length, -1))];
    if (!holder || !hasEnded(holder)) return;
    const path = `${above}/${folder}`;
    const left = (await names(root, `v1/sys/leases/lookup/${path}`)).filter((name) => !irrevocable.has(path + name));
    if (left.length > 0) open.push("a lease still exists although its token has ended");
  });
  return open;
}

async function runningTidy({ root }: Finish): Promise<string[]> {
  const status = await ask(root, "GET", "v1/auth/token/tidy-status");
  return member(status, "data", "state") === "running" ? ["a tidy run does not end"] : [];
}

/** Finds living tokens that the list of accessors lacks. */
async function unlistedTokens({ root, ledger }: Finish): Promise<string[]> {
  const listed = new Set(await names(root, "v1/auth/token/accessors"));
  return ledger.entries.flatMap((entry) => {
    const isMissing = entry.accessor !== "" && expectedOf(entry) === "alive" && !listed.has(entry.accessor);
    return isMissing && entry.kind !== "batch token" ? ["a token that is alive is not listed"] : [];
  });
}

/** Compares the ledger with the list of teams and with the revocations that the secrets engine received. */
export async function findWrongLists({ root, ledger, environment }: Finish): Promise<string[]> {
  const teams = await teamIds(root);
  return ledger.entries.flatMap((entry) => {
    const expected = expectedOf(entry);
    if (entry.kind === "lease" && expected === "alive" && environment.engine.asked.has(entry.id)) {
      return ["the revocation of a lease was sent although nothing ended the lease"];
    }
    if (entry.kind !== "team" || expected === "unknown" || teams.has(entry.id) === (expected === "alive")) return [];
    return [`a team that is ${expected} is ${expected === "alive" ? "not listed" : "listed"}`];
  });
}

/** True if an entry has ended or the server has promised its end. */
function hasEnded(entry: Entry): boolean {
  return entry.ending === "promised" || expectedOf(entry) === "dead";
}

/** The keys of a list; empty if the list does not exist. */
async function names(root: Client, path: string): Promise<string[]> {
  return texts((await send(root, "GET", `${path}?list=true`)).body, "data", "keys");
}

async function teamIds(root: Client): Promise<Set<unknown>> {
  const ids = new Set<unknown>();
  for (let page: unknown = 1; typeof page === "number"; ) {
    const query = `page%5Bnumber%5D=${page}&page%5Bsize%5D=100`;
    const body = await ask(root, "GET", `${TEAMS}/organizations/${ORGANIZATION}/teams?${query}`);
    const teams = member(body, "data");
    for (const team of Array.isArray(teams) ? teams : []) ids.add(member(team, "id"));
    page = member(body, "meta", "pagination", "next-page");
  }
  return ids;
}
