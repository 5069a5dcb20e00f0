import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { parseGroveArguments } from "../../../../scripts/grove/arguments.ts";
import { GroveClient } from "../../../../scripts/grove/client.ts";
import { containTokens } from "../../../../scripts/grove/commands/contain.ts";

const ID = "f684b7de-0000-4000-8000-000000000000";
const ARE_CONTINUED = `the service goes on with it: npm run -s grove -- contain --job ${ID} continues`;

/** Time that passes with each look at the job (ms). */
let perLookMs: number;
/** The job as it is seen at each look, by its number; null: the server answers 503. */
let jobAt: (look: number) => object | null;
/** What fails on the server. */
let failing: { readonly title: string; readonly seen: string }[];
let said: string[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: 0 });
  [perLookMs, failing, said] = [100_000, [], []];
});

afterEach(() => {
  vi.useRealTimers();
});

const groups = { mount: [], type: [], role: [], owner: [] };
const RUNNING = {
  ...{ id: ID, state: "running", counted: 1, matched: 1, total: 0, revoked: 0, finished: null },
  preview: { count: 1, total: 1, leases: { count: 0, more: false }, by: groups, skipped: { root: 0, self: 0 } },
};
const RECEIPT = {
  ...{ job: ID, state: "running", request_id: "", asked_by: null, started: "2026-01-01T00:00:00Z", finished: null },
  numbers: { matched: 1, total: 0, leases: { count: 0, more: false } },
};
const FULL = { errors: ["the disk of the service is full"] };

/** Runs `contain --job`. Returns its exit code, or the message of its failure. */
async function contain(): Promise<number | string> {
  const command = parseGroveArguments(["contain", "--job", ID]);
  if (!command.ok || command.value.kind !== "contain") throw new Error("the command line is not taken");
  let looks = 0;
  const answers: Readonly<Record<string, () => object | null>> = {
    [`/v1/sys/tokens/jobs/${ID}/receipt`]: () => RECEIPT,
    [`/v1/sys/tokens/jobs/${ID}`]: () => {
      vi.setSystemTime(Date.now() + perLookMs);
      return jobAt(looks++);
    },
    "/v1/sys/doctor": () => ({ checks: failing.map((one) => ({ ...one, state: "failing" })) }),
  };
  const client = new GroveClient("http://127.0.0.1:1", "s.own", {
    send: async ({ path }) => {
      const data = answers[path.split("?")[0] ?? ""]?.() ?? null;
      return { status: data === null ? 503 : 200, retryAfter: null, text: JSON.stringify(data ? { data } : FULL) };
    },
    wait: async () => {},
    say: () => {},
  });
  const terminal = {
    ...{ colours: false, interactive: false, columns: null, progress: () => {}, piped: true },
    ...{ ask: async () => "", secret: async () => "", lines: async function* () {} },
    ...{ out: () => {}, say: (line: string) => void said.push(line) },
  };
  const done = await containTokens({ client, terminal, json: false }, command.value);
  return done.ok ? done.value : done.error.message;
}

it("says once why a job waits, and gives up a job that makes no progress, with the command that continues", async () => {
  jobAt = () => RUNNING;
  failing = [{ title: "Disk", seen: "the disk is full: writes fail" }];
  const why = "Disk: the disk is full: writes fail";
  expect(await contain()).toBe(`job ${ID} makes no progress (${why}); ${ARE_CONTINUED}`);
  expect(said).toEqual([`job ${ID} waits (${why})`]);
});

it("names the last failure of a job when nothing is known to fail on the server", async () => {
  jobAt = () => ({ ...RUNNING, failures: ["2026-01-01T00:00:00Z: busy"] });
  await contain();
  expect(said).toEqual([`job ${ID} waits (its last failure: 2026-01-01T00:00:00Z: busy)`]);
});

it("follows a job that goes on, however long it takes, and fails when it can't be read", async () => {
  perLookMs = 250_000;
  jobAt = (look) => (look < 3 ? { ...RUNNING, total: look } : null);
  expect(await contain()).toBe(`the disk of the service is full; ${ARE_CONTINUED}`);
  expect(said).toEqual([]);
});
