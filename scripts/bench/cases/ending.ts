import { rmSync } from "node:fs";
import * as z from "zod";
import { inGroups } from "../../../src/base/parallel.ts";
import type { LoadRequest } from "../load/request.ts";
import { call, makeToken } from "../servers/call.ts";
import { GroveServer } from "../servers/grove.ts";
import { median } from "../statistics.ts";
import { assertAllGood, type Bench, CONNECTIONS, TOKEN_PATH } from "./bench.ts";
import { type Beside, beside, secondsSince } from "./beside.ts";
import { plantForest } from "./planted-forest.ts";
import { statusOf } from "./seeded-server.ts";

/** Leaves that are revoked one by one, for comparison. */
const LEAVES = 15;
/** First tokens of trees that are asked for. */
const PROBES = 60;
/** Trees of one token each that stay, and are looked up all the time. */
const OTHERS = 16;
/** Windows in which look-ups are measured, and how many of them before. */
const WINDOW_SECONDS = 2;
const WINDOWS_BEFORE = 3;
/** The list is asked for so many tokens: more than stay. */
const PAGE = 500;

const COUNTED = z.object({ counters: z.object({ service_tokens: z.object({ total: z.number() }) }) });

/** Many tokens that were ended by one call. Times in ms. */
export interface Ending {
  readonly by: "mount" | "prefix";
  readonly tokens: number;
  readonly trees: number;
  /** Of the call that ends them, once. */
  readonly ms: number;
  /** Of revoking a leaf. */
  readonly leafMs: number;
  readonly leafWorstMs: number;
  /** How many first tokens were asked for, and accepted before and right after the answer. */
  readonly probes: number;
  readonly acceptedBefore: number;
  readonly acceptedAfter: number;
  /** p99 of look-ups in other trees, before and while the clean-up goes on. */
  readonly lookUps: Beside;
  /** Seconds until the ended tokens were off the lists; null when they were not yet when the watching ended. */
  readonly cleanAfterSeconds: number | null;
  readonly watchedSeconds: number;
  /** Tokens that went off the lists meanwhile. */
  readonly gone: number;
}

/** How many tokens are ended together, in how many trees, and how many seconds the clean-up is watched at most. */
export interface EndingSize {
  readonly trees: number;
  readonly tokens: number;
  readonly watchSeconds: number;
}

/** Ends all tokens of a mount by one call, asks for them at once, and watches what the clean-up does to others. */
export async function endTogether(bench: Bench, by: Ending["by"], size: EndingSize): Promise<Ending> {
  const { trees, tokens, watchSeconds } = size;
  const { directory, tops } = await plantForest(bench, trees, tokens, { name: `ending-${by}`, onlyLogins: true });
  bench.say(`ending by ${by}: ${tokens} tokens; the clean-up is watched for ${watchSeconds} s at most`);
  const server = await GroveServer.start(bench.build, directory);
  try {
    const probes = tops.filter((_, index) => index % Math.ceil(tops.length / PROBES) === 0);
    const acceptedBefore = await accepted(server, probes);
    const parent = await makeToken(server, "create-orphan", { ttl: "1h", policies: ["root"] });
    const creator = { place: server.place, token: parent.token };
    const leaves: number[] = [];
    while (leaves.length < LEAVES) {
      const { token } = await makeToken(creator, "create", { ttl: "1h" });
      leaves.push(await timeOf(server, "POST", "auth/token/revoke", { token }));
    }
    const others: string[] = [];
    while (others.length < OTHERS) others.push((await makeToken(server, "create-orphan", { ttl: "24h" })).token);
    const listed = await tokensListed(server);
    const before: number[] = [];
    while (before.length < WINDOWS_BEFORE) before.push(await lookUps(bench, server, others));
    const ms =
      by === "mount"
        ? await timeOf(server, "DELETE", "sys/auth/aws")
        : await timeOf(server, "PUT", "sys/leases/revoke-prefix/auth/aws");
    const acceptedAfter = await accepted(server, probes);
    const began = performance.now();
    const during: number[] = [];
    let cleanAfterSeconds: number | null = null;
    while (cleanAfterSeconds === null && secondsSince(began) < watchSeconds) {
      during.push(await lookUps(bench, server, others));
      if (await isClean(server)) cleanAfterSeconds = secondsSince(began);
    }
    const watchedSeconds = secondsSince(began);
    const gone = listed - (await tokensListed(server));
    return {
      by,
      tokens,
      trees,
      ms,
      leafMs: median(leaves),
      leafWorstMs: Math.max(...leaves),
      probes: probes.length,
      acceptedBefore,
      acceptedAfter,
      lookUps: beside(before, during),
      cleanAfterSeconds,
      watchedSeconds,
      gone,
    };
  } finally {
    await server.stop();
    // The next forest has the disk and the system's cache for itself.
    rmSync(directory, { recursive: true, force: true });
  }
}

async function timeOf(server: GroveServer, method: string, path: string, body?: unknown): Promise<number> {
  const start = performance.now();
  const { status } = await call(server, method, path, body);
  if (status !== 204 && status !== 200) throw new Error(`${path} answered ${status}`);
  return performance.now() - start;
}

async function accepted(server: GroveServer, tokens: readonly string[]): Promise<number> {
  const statuses = await inGroups(tokens, (token) => statusOf(server, token));
  return statuses.filter((status) => status === 200).length;
}

/** p99 (ms) of look-ups by these tokens, sent as fast as they are answered. */
async function lookUps({ load }: Bench, { place }: GroveServer, tokens: readonly string[]): Promise<number> {
  const requests = tokens.map((token): LoadRequest => {
    return { label: "look-up", method: "GET", path: `${TOKEN_PATH}lookup-self`, token };
  });
  const streams = [{ connections: CONNECTIONS, requests, spread: true }];
  const { labels } = await load.run({ place, seconds: WINDOW_SECONDS, streams });
  for (const [name, label] of Object.entries(labels)) assertAllGood(name, label);
  return labels["look-up"]?.latencyMs.p99 ?? 0;
}

/** How many tokens the lists have. */
async function tokensListed(server: GroveServer): Promise<number> {
  const { body } = await call(server, "GET", "sys/internal/counters/tokens");
  const { total } = COUNTED.parse(body?.data).counters.service_tokens;
  return total;
}

/** True when the list has no more tokens than those that stay. */
async function isClean(server: GroveServer): Promise<boolean> {
  const { body } = await call(server, "GET", `auth/token/accessors?list=true&limit=${PAGE}`);
  return (body?.data?.keys?.length ?? 0) < PAGE;
}
