import type { LoadRequest } from "../load/request.ts";
import { KEPT_TOKEN } from "../load/request.ts";
import { seedTeams } from "../seed/teams.ts";
import { seedTrees } from "../seed/trees.ts";
import { call, makeToken } from "../servers/call.ts";
import { GroveServer } from "../servers/grove.ts";
import { pairedRatio, type Spread, spread } from "../statistics.ts";
import { type Bench, measure, TOKEN_PATH } from "./bench.ts";
import { type Counts, countsOf } from "./counts.ts";
import { startSeeded } from "./seeded-server.ts";

/** One operation at several sizes of the same thing. */
export interface Growth {
  readonly operation: string;
  readonly points: readonly GrowthPoint[];
}

/** An operation at one size. */
export interface GrowthPoint {
  readonly size: number;
  /** p50 in ms, of several rounds. */
  readonly p50: Spread;
  /** As a ratio to the smallest size in the same round. */
  readonly ratio: Spread;
  readonly rows: Counts;
}

/** A server to measure on, and what to send it. */
interface Grown {
  readonly size: number;
  readonly directory: string;
  readonly server: GroveServer;
  /** Each is a list of requests that are sent in turn; every label is an operation. */
  readonly loads: readonly (readonly LoadRequest[])[];
}

/** Tokens in one tree. */
export async function growTree(bench: Bench, sizes: readonly number[]): Promise<Growth[]> {
  const grown: Grown[] = [];
  for (const size of sizes) {
    bench.say(`growth: a tree of ${size} tokens`);
    const directory = `${bench.directory}/tree-${size}`;
    const { server, below, top, branch } = await startSeeded(bench.build, directory, size);
    const page = `${TOKEN_PATH}accessors?list=true&limit=100&after=${branch.accessor.slice(0, 44)}`;
    const list = { label: "list 100 accessors", method: "GET", path: page, token: server.token };
    grown.push({ size, directory, server, loads: [...operationsOn(below, top), [list]] });
  }
  return measureGrown(bench, grown);
}

/** Trees in one installation. What is measured is one of them. */
export async function growForest(bench: Bench, sizes: readonly number[]): Promise<Growth[]> {
  const grown: Grown[] = [];
  for (const size of sizes) {
    bench.say(`growth: ${size} trees`);
    const directory = `${bench.directory}/trees-${size}`;
    const { server: first, others, top } = await startSeeded(bench.build, directory, 1);
    const like = await makeToken(first, "create-orphan", { ttl: "24h", policies: ["default"] });
    await first.stop();
    await seedTrees(bench.build, directory, like, size - 1);
    const server = await GroveServer.start(bench.build, directory);
    grown.push({ size, directory, server, loads: operationsOn(others.slice(0, 1), top) });
  }
  return measureGrown(bench, grown);
}

const ORGANIZATION = "bench";
const TEAMS_PAGE = 100;

/** Teams in one organization, listed by pages from the middle. */
export async function growTeams(bench: Bench, sizes: readonly number[]): Promise<Growth[]> {
  const grown: Grown[] = [];
  for (const size of sizes) {
    bench.say(`growth: ${size} teams`);
    const directory = `${bench.directory}/teams-${size}`;
    const first = await GroveServer.start(bench.build, directory);
    await makeTeam(first);
    await first.stop();
    seedTeams(bench.build, directory, ORGANIZATION, size - 1);
    const server = await GroveServer.start(bench.build, directory);
    const page = `page[size]=${TEAMS_PAGE}&page[number]=${Math.ceil(size / 2 / TEAMS_PAGE)}`;
    const list = (label: string, path: string): LoadRequest[] => {
      return [{ label, method: "GET", path: `/v1/organizations/${ORGANIZATION}/${path}`, token: server.token }];
    };
    const loads = [
      list("list 100 teams", `teams?${page}`),
      list("list 100 tokens by last use", `team-tokens?sort=-last-used-at&${page}`),
    ];
    grown.push({ size, directory, server, loads });
  }
  return measureGrown(bench, grown);
}

async function makeTeam(server: GroveServer): Promise<void> {
  const make = async (path: string, type: string, attributes: unknown): Promise<string> => {
    const { status, body } = await call(server, "POST", path, { data: { type, attributes } });
    const id = body?.data?.id;
    if (status >= 300 || typeof id !== "string") throw new Error(`${path} answered ${status}`);
    return id;
  };
  await make("organizations", "organizations", { name: ORGANIZATION, email: "bench@example.com" });
  const team = await make(`organizations/${ORGANIZATION}/teams`, "teams", { name: "team" });
  await make(`teams/${team}/authentication-token`, "authentication-token", {});
}

function operationsOn(tokens: readonly string[], creator: string): LoadRequest[][] {
  const on = (label: string, method: string, path: string, token: string, body?: unknown): LoadRequest => {
    return { label, method, path: TOKEN_PATH + path, token, ...(body !== undefined && { body }) };
  };
  const fields = { ttl: "1h", policies: ["default"] };
  return [
    tokens.map((token) => on("look-up", "GET", "lookup-self", token)),
    tokens.map((token) => on("renew", "POST", "renew-self", token, {})),
    [
      { ...on("create", "POST", "create", creator, fields), keepsToken: true },
      on("revoke a leaf", "POST", "revoke-self", KEPT_TOKEN, {}),
    ],
  ];
}

/** Measures all sizes in turns, then counts the rows of one request of each kind. Stops the servers. */
async function measureGrown(bench: Bench, grown: readonly Grown[]): Promise<Growth[]> {
  const times = new Map<string, number[]>();
  const timesOf = (operation: string, size: number): number[] => {
    const key = `${operation} ${size}`;
    const known = times.get(key) ?? [];
    times.set(key, known);
    return known;
  };
  try {
    for (let round = 0; round <= bench.rounds; round++) {
      bench.say(round === 0 ? "growth: warming up" : `growth: round ${round} of ${bench.rounds}`);
      for (const index of grown[0]?.loads.keys() ?? []) {
        for (const { size, server, loads } of grown) {
          const samples = await measure(bench, server, loads[index] ?? []);
          if (round === 0) continue;
          for (const [operation, { p50 }] of Object.entries(samples)) timesOf(operation, size).push(p50);
        }
      }
    }
  } finally {
    for (const { server } of grown) await server.stop();
  }
  const rows = new Map<string, Counts>();
  for (const { size, directory, loads } of grown) {
    const counts = await countsOf(
      bench.build,
      directory,
      loads.flatMap((list) => firstOfEach(list)),
    );
    for (const [operation, count] of Object.entries(counts)) rows.set(`${operation} ${size}`, count);
  }
  const operations = [...new Set(grown.flatMap(({ loads }) => loads.flat().map(({ label }) => label)))];
  const smallest = grown[0]?.size ?? 0;
  return operations.map((operation) => ({
    operation,
    points: grown.map(({ size }) => ({
      size,
      p50: spread(timesOf(operation, size)),
      ratio: pairedRatio(timesOf(operation, size), timesOf(operation, smallest)),
      rows: rows.get(`${operation} ${size}`) ?? { rowsRead: 0, rowsWritten: 0, alarms: 0, calls: [], objects: 0 },
    })),
  }));
}

/** One request of each kind; those that keep and use a token stay in their order. */
function firstOfEach(list: readonly LoadRequest[]): LoadRequest[] {
  return [...Map.groupBy(list, ({ label }) => label).values()].flatMap((same) => same.slice(0, 1));
}
