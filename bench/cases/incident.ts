import { setTimeout as pause } from "node:timers/promises";
import type { Bench, CaseFigures, Row } from "../case.ts";
import { ask, member, text } from "../servers/client.ts";
import { ServeProcess } from "../servers/serve.ts";
import { median } from "../statistics.ts";

/** Measured answers of each question; one before them wakes the objects. */
const ANSWERS = 7;
/** Target: time until a dry run answers with its number, or that it continues to count (ms). */
const DRY_RUN_MS = 2000;
const LOOK_MS = 200;

/** The times of sequential answers. */
interface Timed {
  readonly row: Row;
  readonly medianMs: number;
  readonly last: unknown;
}

/** Measures questions of an operator in an incident: lists, searches, groups, and the dry run of a revocation of all tokens. */
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
    bench.say("dry run of all tokens");
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

/** The questions, and their addresses below `sys/tokens`. */
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

/** Measures dry runs of a revocation of all tokens, and follows the last one until its number is exact. */
async function measureDryRun(server: ServeProcess): Promise<{ readonly row: Row; readonly medianMs: number }> {
  const body = { created_before: new Date().toISOString(), dry_run: true };
  const dryRun = async () => member(await ask(server, "POST", "v1/sys/tokens/revoke", body), "data");
  const jobOf = (answer: unknown) => `v1/sys/tokens/jobs/${text(answer, "job")}`;
  // Jobs run one at a time, so each is stopped before the next.
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
    await pause(LOOK_MS);
    job = member(await ask(server, "GET", path), "data");
  } while (member(job, "state") === "counting");
  if (member(job, "state") !== "counted") throw new Error(`the count ended as ${member(job, "state")}`);
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

/** @param after runs after each answer, and is not measured. */
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
  // The system counts CPU in hundredths of a second, so the mean is more exact than a median.
  const ms = (seconds: number) => (seconds * 1000) / ANSWERS;
  const row = {
    "median ms": medianMs,
    "longest ms": Math.max(...times),
    "Worker ms": ms(cpu.worker),
    "gateway ms": ms(cpu.gateway),
  };
  return { row, medianMs, last };
}
