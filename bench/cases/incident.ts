import { setTimeout as pause } from "node:timers/promises";
import type { Bench, CaseFigures, Row } from "../case.ts";
import { ask, member, text } from "../servers/client.ts";
import { ServeProcess } from "../servers/serve.ts";
import { median } from "../statistics.ts";

/** Measured answers to each query. One unmeasured answer before them loads the objects. */
const ANSWERS = 7;
/** Target: time until a dry run answers with its count, or with a job that continues to count (ms). */
const DRY_RUN_MS = 2000;
/** Interval of polls for the end of the job (ms). */
const POLL_MS = 200;

/** Latencies of sequential requests, and the last answer. */
interface Timed {
  readonly row: Row;
  readonly medianMs: number;
  readonly last: unknown;
}

/** Measures queries for incident response: lists, searches, groups, and the dry run of revoking all tokens. */
export async function measureIncident(bench: Bench): Promise<CaseFigures> {
  const { data, secrets } = await bench.forest();
  const server = await ServeProcess.start(data, secrets);
  try {
    const questions = await questionsTo(server);
    const tokens = Number(member(await ask(server, "GET", "v1/sys/tokens/summary"), "data", "total"));
    const rows: Row[] = [];
    for (const [question, path] of Object.entries(questions)) {
      bench.say(question);
      const { row } = await timed(server, () => ask(server, "GET", `v1/sys/tokens${path}`));
      rows.push({ question, tokens, ...row });
    }
    bench.say("dry run of revoking all tokens");
    const dryRun = await measureDryRun(server);
    const what = `dry run of ${bench.tokens} tokens: median of its answers, ms`;
    return {
      tables: [rows, [{ "dry run of": tokens, ...dryRun.row }]],
      targets: [{ what, got: dryRun.medianMs, atMost: DRY_RUN_MS }],
      variant: String(bench.tokens),
    };
  } finally {
    await server.stop();
  }
}

/** The queries, and their paths below `sys/tokens`. */
async function questionsTo(server: ServeProcess): Promise<Record<string, string>> {
  const page = member(await ask(server, "GET", "v1/sys/tokens?limit=1"), "data", "tokens");
  const middle = text(page, "0", "accessor").slice(4, 20);
  return {
    "a page of 100, no filter": "?limit=100",
    "search: a part of a name": "?search=job-1",
    "search: a text that no token has": "?search=nothing-has-this",
    "search: 16 characters from the middle of an accessor": `?search=${middle}`,
    "numbers by display name": "/summary?group_by=display_name",
    "the map": "/map",
    "what ends in 24 hours, by display name": "/ends?group_by=display_name",
  };
}

/** Measures dry runs of revoking all tokens, then polls one job until its count is exact. */
async function measureDryRun(server: ServeProcess): Promise<{ readonly row: Row; readonly medianMs: number }> {
  const body = { created_before: new Date().toISOString(), dry_run: true };
  const dryRun = async () => member(await ask(server, "POST", "v1/sys/tokens/revoke", body), "data");
  const jobOf = (answer: unknown) => `v1/sys/tokens/jobs/${text(answer, "job")}`;
  // Only one job can run at a time, so each is stopped before the next.
  const { medianMs, last, row } = await timed(server, dryRun, async (answer) => {
    if (member(answer, "job") !== undefined) await ask(server, "POST", `${jobOf(answer)}/stop`);
  });
  const goesOn = member(last, "job") !== undefined;
  if (!goesOn) return { medianMs, row: { ...row, "answers with": "its number", total: Number(member(last, "total")) } };
  const began = performance.now();
  const before = server.usage().worker.cpuSeconds;
  const path = jobOf(await dryRun());
  let job: unknown;
  do {
    await pause(POLL_MS);
    job = member(await ask(server, "GET", path), "data");
  } while (member(job, "state") === "counting");
  if (member(job, "state") !== "counted") throw new Error(`the job ended in the state ${member(job, "state")}`);
  return {
    medianMs,
    row: {
      ...row,
      "answers with": "goes on counting",
      total: Number(member(job, "preview", "total")),
      "exact after s": (performance.now() - began) / 1000,
      "job: Worker s": server.usage().worker.cpuSeconds - before,
    },
  };
}

/** @param after runs after each answer; it is not measured. */
async function timed(
  server: ServeProcess,
  answer: () => Promise<unknown>,
  after: (answer: unknown) => Promise<void> = async () => {},
): Promise<Timed> {
  const times: number[] = [];
  const cpu = { worker: 0, gateway: 0 };
  let last: unknown;
  for (let round = 0; round <= ANSWERS; round++) {
    const before = server.usage();
    const began = performance.now();
    last = await answer();
    const took = performance.now() - began;
    const used = server.usage();
    await after(last);
    if (round === 0) continue;
    times.push(took);
    for (const name of ["worker", "gateway"] as const) cpu[name] += used[name].cpuSeconds - before[name].cpuSeconds;
  }
  const medianMs = median(times);
  // /proc reports CPU time in units of 10 ms, so a mean over all answers is more precise than a median.
  const ms = (seconds: number) => (seconds * 1000) / ANSWERS;
  const row = {
    "median ms": medianMs,
    "longest ms": Math.max(...times),
    "Worker ms": ms(cpu.worker),
    "gateway ms": ms(cpu.gateway),
  };
  return { row, medianMs, last };
}
