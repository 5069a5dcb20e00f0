import { DatabaseSync } from "node:sqlite";
import type { LoadRequest } from "../load/request.ts";
import { databasePath, treeIdOf } from "../seed/installation.ts";
import { call } from "../servers/call.ts";
import type { GroveServer } from "../servers/grove.ts";
import { median } from "../statistics.ts";
import { assertAllGood, type Bench, CONNECTIONS, TOKEN_PATH } from "./bench.ts";
import { type Beside, beside, secondsSince } from "./beside.ts";
import { type SeededServer, startSeeded, statusOf } from "./seeded-server.ts";

/** What revoking a token with many descendants did. Times in ms. */
export interface Cascade {
  readonly descendants: number;
  /** Revoking a token without children, the middle one of several. */
  readonly leafMs: number;
  /** Revoking the token with the descendants. */
  readonly revokeMs: number;
  /** Descendants that were asked for right after the answer, and those of them that were still accepted. */
  readonly asked: number;
  readonly accepted: number;
  readonly sameTree: Beside;
  readonly otherTrees: Beside;
  /** Seconds until rows and accessors were gone; null when they were not yet when the watching ended. */
  readonly sweptAfterSeconds: number | null;
  readonly watchedSeconds: number;
  /** Tokens of the tree that were left on disk, dead ones among them. */
  readonly rowsLeft: number;
  /** MiB, before the revocation and at most during the sweep. */
  readonly memoryBefore: number;
  readonly memoryMost: number;
}

/** p99 (ms) of one window. */
interface LookUps {
  readonly same: number;
  readonly other: number;
}

const LEAVES = 9;
/** Windows in which look-ups are measured, and how many of them before the revocation. */
const WINDOW_SECONDS = 2;
const WINDOWS_BEFORE = 5;
/** Page size: more accessors than stay in the tree, fewer than the revocation removes. */
const PAGE = 500;

/** Revokes a token with `count` descendants and watches for at most `watchSeconds` what that does to others. */
export async function runCascade(bench: Bench, count: number, watchSeconds: number): Promise<Cascade> {
  bench.say(`cascade: ${count} descendants`);
  const seeded = await startSeeded(bench.build, `${bench.directory}/cascade-${count}`, count);
  const { server, siblings, branch, below } = seeded;
  try {
    const leaves = siblings.slice(0, LEAVES);
    const before: LookUps[] = [];
    while (before.length < WINDOWS_BEFORE) before.push(await lookUps(bench, seeded));
    const leafTimes: number[] = [];
    for (const leaf of leaves) leafTimes.push(await timeToRevoke(server, leaf));
    const memoryBefore = server.usage().memoryMiB;

    const revokeMs = await timeToRevoke(server, branch.token);
    const began = performance.now();
    let accepted = 0;
    for (const token of below) if ((await statusOf(server, token)) !== 403) accepted++;

    const windows: LookUps[] = [];
    let memoryMost = server.usage().memoryMiB;
    let sweptAfterSeconds: number | null = null;
    while (sweptAfterSeconds === null && secondsSince(began) < watchSeconds) {
      windows.push(await lookUps(bench, seeded));
      memoryMost = Math.max(memoryMost, server.usage().memoryMiB);
      if (await isSwept(server, branch.accessor)) sweptAfterSeconds = secondsSince(began);
    }
    const watchedSeconds = secondsSince(began);
    await server.stop();
    return {
      descendants: count,
      leafMs: median(leafTimes),
      revokeMs,
      asked: below.length,
      accepted,
      sameTree: beside(
        before.map(({ same }) => same),
        windows.map(({ same }) => same),
      ),
      otherTrees: beside(
        before.map(({ other }) => other),
        windows.map(({ other }) => other),
      ),
      sweptAfterSeconds,
      watchedSeconds,
      rowsLeft: rowsOf(bench, seeded),
      memoryBefore,
      memoryMost,
    };
  } finally {
    await server.stop();
  }
}

async function timeToRevoke(server: GroveServer, token: string): Promise<number> {
  const began = performance.now();
  const { status } = await call(server, "POST", "auth/token/revoke", { token });
  if (status !== 204) throw new Error(`auth/token/revoke answered ${status}`);
  return performance.now() - began;
}

/** p99 of look-ups of tokens that stay, in the big tree and in others, side by side. */
async function lookUps({ load }: Bench, { server, siblings, others }: SeededServer): Promise<LookUps> {
  const request =
    (label: string) =>
    (token: string): LoadRequest => {
      return { label, method: "GET", path: `${TOKEN_PATH}lookup-self`, token };
    };
  const same = siblings.slice(LEAVES).map(request("same"));
  const other = others.map(request("other"));
  const result = await load.run({
    place: server.place,
    seconds: WINDOW_SECONDS,
    streams: [
      { connections: CONNECTIONS / 2, requests: same, spread: true },
      { connections: CONNECTIONS / 2, requests: other, spread: true },
    ],
  });
  for (const [name, label] of Object.entries(result.labels)) assertAllGood(name, label);
  return { same: result.labels.same?.latencyMs.p99 ?? 0, other: result.labels.other?.latencyMs.p99 ?? 0 };
}

/** True when few accessors of the tree are listed any more. Accessors of one tree stand together in the list. */
async function isSwept(server: GroveServer, accessor: string): Promise<boolean> {
  const tree = accessor.slice(0, 42);
  const { body } = await call(server, "GET", `auth/token/accessors?list=true&limit=${PAGE}&after=${tree}`);
  const left = body?.data?.keys?.filter((key) => key.startsWith(tree)) ?? [];
  return left.length < PAGE;
}

function rowsOf({ build }: Bench, { directory, branch }: SeededServer): number {
  const database = new DatabaseSync(databasePath(build, directory, "TokenTree", treeIdOf(branch.accessor)));
  const count = database.prepare("SELECT count(*) AS count FROM tokens").get()?.count;
  database.close();
  return Number(count);
}
