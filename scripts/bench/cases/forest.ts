import { setTimeout as pause } from "node:timers/promises";
import { FLEET_POLICY } from "../seed/forest.ts";
import { type AnswerBody, call } from "../servers/call.ts";
import { GroveServer } from "../servers/grove.ts";
import { median } from "../statistics.ts";
import type { Bench } from "./bench.ts";
import { countsOf } from "./counts.ts";
import { plantForest } from "./planted-forest.ts";

/** How many times each question is asked. */
const ASKED = 15;
const HOUR_MS = 3_600_000;
/**
 * The server is killed when a job has come to this share of its tokens. The share is small because a job comes to few of
 * them: most are swept with an ancestor before.
 */
const KILLED_AT = 0.03;
const POLL_MS = 100;
/** A job that has not ended by then is a fault of its own. */
const LONGEST_MS = 1_800_000;
/** First tokens of trees that are asked for after a bulk revocation. */
const PROBES = 300;

/** A forest of this size, and how long answers about it take. */
export interface ForestReport {
  readonly trees: number;
  readonly tokens: number;
  readonly questions: readonly ForestQuestion[];
  readonly revocation: BulkRevocation;
}

/** A question that one call answers. Times in ms. */
export interface ForestQuestion {
  readonly question: string;
  readonly request: string;
  readonly median: number;
  readonly worst: number;
  /** Rows read in all objects for one answer. */
  readonly rowsRead: number;
}

/** A bulk revocation during which the server was killed. */
export interface BulkRevocation {
  /** Tokens that the filter meant. */
  readonly expected: number;
  /** How many were revoked when the server was killed. */
  readonly killedAt: number;
  /** From the call to the end of the job, with the restart. */
  readonly seconds: number;
  readonly revoked: number;
  readonly endedBefore: number;
  readonly remaining: number;
  /** Probes: tokens that should be dead and are accepted, and tokens that should live and are refused. */
  readonly wronglyAlive: number;
  readonly wronglyDead: number;
}

interface Question {
  readonly question: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
}

/** Asks what operators ask of a forest, then revokes half of it with a kill in the middle. */
export async function askForest(bench: Bench, trees: number, tokens: number): Promise<ForestReport> {
  const { directory, like, tops } = await plantForest(bench, trees, tokens);
  const server = await GroveServer.start(bench.build, directory);
  try {
    const list = questionsOf(like.accessor, Date.now());
    const asked: ForestQuestion[] = [];
    for (const question of list) {
      const times = await timesOf(server, question);
      const request = `${question.method} ${question.path}`;
      asked.push({
        question: question.question,
        request,
        median: median(times),
        worst: Math.max(...times),
        rowsRead: 0,
      });
    }
    await server.stop();
    const requests = list.map(({ question, method, path, body }) => {
      return { label: question, method, path: `/v1/${path}`, token: server.token, ...(body !== undefined && { body }) };
    });
    const counts = await countsOf(bench.build, directory, requests);
    const questions = asked.map((entry) => ({ ...entry, rowsRead: counts[entry.question]?.rowsRead ?? 0 }));
    return { trees, tokens, questions, revocation: await revokeHalf(bench, directory, tops) };
  } finally {
    await server.stop();
  }
}

/** What operators ask, each as one call. */
function questionsOf(accessor: string, now: number): Question[] {
  const at = (ms: number) => Math.floor(ms / 1000);
  const get = (question: string, path: string): Question => ({ question, method: "GET", path });
  return [
    get("which tokens are there: a page of 100", "sys/tokens?limit=100"),
    get("which were made last", "sys/tokens?limit=100&sort=-created"),
    get("what does the forest look like", "sys/tokens/map"),
    get("who made this token, what hangs below it", `sys/tokens/${accessor}`),
    get("which end within the hour", `sys/tokens?limit=100&sort=end&ends_before=${at(now + HOUR_MS)}`),
    get("how many end in which hour", "sys/tokens/summary?group_by=end_hour"),
    get("how many has each mount", "sys/tokens/summary?group_by=mount"),
    get("how many has each role", "sys/tokens/summary?group_by=role"),
    get("how many has each policy", "sys/tokens/summary?group_by=policy"),
    get("which never end", "sys/tokens?limit=100&never_ends=true"),
    get("which has this policy", "sys/tokens?limit=100&policy=operator"),
    get("which has this role", "sys/tokens?limit=100&role=web"),
    get("which are root tokens", "sys/tokens?limit=100&policy=root"),
    get(
      "orphans of a mount made within the day",
      `sys/tokens?limit=100&mount=aws&orphan=true&created_after=${at(now - 24 * HOUR_MS)}`,
    ),
    get("which of a mount nobody used for an hour", `sys/tokens?limit=100&mount=aws&unused_since=${at(now - HOUR_MS)}`),
    get("which have a name that begins so", "sys/tokens?limit=100&display_name=aws-data*"),
    {
      question: "what would die with this policy",
      method: "POST",
      path: "sys/tokens/revoke",
      body: { policy: FLEET_POLICY, dry_run: true },
    },
  ];
}

async function timesOf(server: GroveServer, { question, method, path, body }: Question): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round <= ASKED; round++) {
    const start = performance.now();
    const { status } = await call(server, method, path, body);
    if (status !== 200) throw new Error(`${question}: answered ${status}`);
    // The first one wakes the objects.
    if (round > 0) times.push(performance.now() - start);
  }
  return times;
}

/** Revokes what has the policy of all logins, kills the server in the middle and starts it again. */
async function revokeHalf(bench: Bench, directory: string, tops: readonly string[]): Promise<BulkRevocation> {
  let server = await GroveServer.start(bench.build, directory);
  try {
    const probes = probesOf(tops);
    const meant = await Promise.all(probes.map((token) => hasPolicy(server, token)));
    const filter = { policy: FLEET_POLICY };
    const dry = await call(server, "POST", "sys/tokens/revoke", filter);
    const expected = numberIn(dry.body, "count");
    bench.say(`forest: revoking ${expected} tokens`);
    const start = performance.now();
    const begun = await call(server, "POST", "sys/tokens/revoke", {
      ...filter,
      dry_run: false,
      expected_count: expected,
    });
    const id = String(begun.body?.data?.job);
    const job = () => call(server, "GET", `sys/tokens/jobs/${id}`);
    const gone = (body: AnswerBody | null) => numberIn(body, "revoked") + numberIn(body, "ended_before");
    const early = await until(job, (body) => gone(body) >= expected * KILLED_AT);
    await server.kill();
    server = await GroveServer.start(bench.build, directory);
    const end = await until(job, (body) => body?.data?.state !== "running");
    const seconds = (performance.now() - start) / 1000;
    if (end?.data?.state !== "done") throw new Error(`the job ended as ${String(end?.data?.state)}`);
    const alive = await Promise.all(probes.map((token) => isAlive(server, token)));
    const left = await call(server, "POST", "sys/tokens/revoke", filter);
    return {
      expected,
      killedAt: gone(early),
      seconds,
      revoked: numberIn(end, "revoked"),
      endedBefore: numberIn(end, "ended_before"),
      remaining: numberIn(left.body, "count"),
      wronglyAlive: alive.filter((lives, index) => lives && meant[index]).length,
      wronglyDead: alive.filter((lives, index) => !lives && !meant[index]).length,
    };
  } finally {
    await server.stop();
  }
}

async function until(
  ask: () => Promise<{ readonly body: AnswerBody | null }>,
  isDone: (body: AnswerBody | null) => boolean,
): Promise<AnswerBody | null> {
  const end = performance.now() + LONGEST_MS;
  for (;;) {
    const { body } = await ask();
    if (isDone(body) || body?.data?.state !== "running") return body;
    if (performance.now() > end) throw new Error("a bulk revocation does not end");
    await pause(POLL_MS);
  }
}

function probesOf(tops: readonly string[]): string[] {
  const step = Math.max(1, Math.floor(tops.length / PROBES));
  return tops.filter((_, index) => index % step === 0);
}

async function hasPolicy(server: GroveServer, token: string): Promise<boolean> {
  const { body } = await call({ place: server.place, token }, "GET", "auth/token/lookup-self");
  const policies = body?.data?.policies;
  return Array.isArray(policies) && policies.includes(FLEET_POLICY);
}

async function isAlive(server: GroveServer, token: string): Promise<boolean> {
  return (await call({ place: server.place, token }, "GET", "auth/token/lookup-self")).status === 200;
}

function numberIn(body: AnswerBody | null, name: string): number {
  return Number(body?.data?.[name] ?? 0);
}
