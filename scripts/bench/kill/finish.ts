import { setTimeout as pause } from "node:timers/promises";
import { LEASE_FOLDER } from "./actions/leases.ts";
import { inParallel } from "./check.ts";
import { type Client, member, send, TEAMS } from "./client.ts";
import { type FakeEnvironment, ORGANIZATION } from "./fake-environment.ts";
import { type Entry, expectedOf, type Ledger } from "./ledger.ts";

/** How long work that was promised may take. A revocation that several kills interrupted waits for minutes. */
const PATIENCE_MS = 300_000;
const LOOK_MS = 1_000;

/** What the end of a run looks at besides the entries one by one. */
export interface Finish {
  readonly root: Client;
  readonly ledger: Ledger;
  readonly environment: FakeEnvironment;
  /** Accessors of no token, which tidy must have removed. */
  readonly dangling: readonly string[];
}

/** Waits until everything that goes on after its answer is over. Returns what is not, in words. */
export async function waitForPromises(finish: Finish): Promise<string[]> {
  const { root, ledger } = finish;
  const until = performance.now() + PATIENCE_MS;
  const settled = async (open: () => Promise<string[]>): Promise<string[]> => {
    for (;;) {
      const left = await open();
      if (left.length === 0 || performance.now() > until) return left;
      await pause(LOOK_MS);
    }
  };
  // A run that is under way may have passed what it should still remove; the next one meets everything.
  const before = await settled(() => runningTidy(root));
  await send(root, "POST", "v1/auth/token/tidy");
  const open = [
    ...before,
    ...(await settled(() => runningTidy(root))),
    ...(await settled(() => openLeases(finish))),
    // A shard asks a tree whose id it handed out a minute later, if nobody told it of the first token.
    ...(await settled(() => unlistedTokens(finish))),
  ];
  for (const entry of ledger.entries) if (entry.ending === "promised") entry.ending = "answered";
  return open;
}

/** Leases that ended and of which nobody was told, and those that are still there though their token is not. */
async function openLeases({ root, ledger, environment }: Finish): Promise<string[]> {
  const given = await send(root, "GET", "v1/sys/leases?type=irrevocable&limit=none");
  const irrevocable = new Set(
    (member(given.body, "data", "leases") as { lease_id: string }[]).map((one) => one.lease_id),
  );
  const open: string[] = [];
  for (const entry of ledger.entries) {
    if (entry.kind !== "lease" || !hasEnded(entry)) continue;
    if (!environment.engine.told.has(entry.id) && !irrevocable.has(entry.id))
      open.push("a lease has ended and nobody was told");
  }
  // Also those whose registration was not answered: the path of a lease says whose it is.
  const folders = await names(root, "kill/");
  await inParallel(folders, async (folder) => {
    const holder = ledger.entries[Number(folder.slice(`${LEASE_FOLDER}`.length - "kill/".length, -1))];
    if (!holder || !hasEnded(holder)) return;
    const left = (await names(root, `kill/${folder}`)).filter((name) => !irrevocable.has(`kill/${folder}${name}`));
    if (left.length > 0) open.push("a lease is left of a token that has ended");
  });
  return open;
}

async function runningTidy(root: Client): Promise<string[]> {
  const { body } = await send(root, "GET", "v1/auth/token/tidy-status");
  return member(body, "data", "state") === "running" ? ["a run of tidy does not end"] : [];
}

async function unlistedTokens({ root, ledger }: Finish): Promise<string[]> {
  const accessors = new Set(await listedAccessors(root));
  return tokensOf(ledger).flatMap(({ accessor, ...entry }) => {
    const isAlive = expectedOf(entry as Entry) === "alive";
    return isAlive && !accessors.has(accessor) ? ["a token that is alive is not listed"] : [];
  });
}

function listedAccessors(root: Client): Promise<string[]> {
  return names(root, "", "v1/auth/token/accessors");
}

/** Compares the lists with what they are lists of. */
export async function findWrongLists({ root, ledger, environment, dangling }: Finish): Promise<string[]> {
  const broken: string[] = [];
  const accessors = new Set(await listedAccessors(root));
  for (const accessor of dangling)
    if (accessors.has(accessor)) broken.push("an accessor of no token is left after tidy");
  for (const entry of ledger.entries) {
    if (entry.kind === "lease" && expectedOf(entry) === "alive" && environment.engine.told.has(entry.id)) {
      broken.push("the revocation of a lease was sent that nobody asked for");
    }
  }
  const teams = await teamIds(root);
  for (const entry of ledger.entries) {
    const expected = expectedOf(entry);
    if (entry.kind === "team" && expected !== "unknown" && teams.has(entry.id) !== (expected === "alive")) {
      broken.push(`a team that is ${expected} is ${expected === "alive" ? "not listed" : "listed"}`);
    }
  }
  return broken;
}

function tokensOf(ledger: Ledger): Entry[] {
  return ledger.entries.filter(({ accessor }) => accessor !== "");
}

/** It ended, or was promised to. */
function hasEnded(entry: Entry): boolean {
  return entry.ending === "promised" || expectedOf(entry) === "dead";
}

async function names(root: Client, prefix: string, path = `v1/sys/leases/lookup/${prefix}`): Promise<string[]> {
  const { status, body } = await send(root, "GET", `${path}?list=true`);
  return status === 200 ? (member(body, "data", "keys") as string[]) : [];
}

async function teamIds(root: Client): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let page: unknown = 1; typeof page === "number"; ) {
    const query = `page%5Bnumber%5D=${page}&page%5Bsize%5D=100`;
    const { body } = await send(root, "GET", `${TEAMS}/organizations/${ORGANIZATION}/teams?${query}`);
    for (const { id } of member(body, "data") as { id: string }[]) ids.add(id);
    page = member(body, "meta", "pagination", "next-page");
  }
  return ids;
}
