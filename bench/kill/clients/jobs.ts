import { setTimeout as pause } from "node:timers/promises";
import { member, text, texts } from "../../servers/client.ts";
import type { Role } from "./groups.ts";
import { isAnswer, RETRY_MS, type Recorder } from "./recorder.ts";

/** Time after which every token with an answered creation is listed, whatever was killed meanwhile (ms). */
export const LISTED_MS = 180_000;
/** Time limit of a job (ms). */
const JOB_MS = 300_000;
/** More tokens than any role has. */
const NO_LIMIT = 1_000_000;
const ENDED = ["done", "failed", "refused", "stopped"];

/** Revokes all tokens of a role with a job, and records its receipt. */
export async function revokeByJob(recorder: Recorder, { name, group }: Role): Promise<void> {
  const begin = performance.now();
  const receipt = await receiptOf(recorder, name);
  if (receipt === null) {
    // The job may have ended any of the role's tokens, or may still do so.
    recorder.history.push({ kind: "watermark", group, begin, end: null });
    return;
  }
  const { ended, doneAt } = receipt;
  for (const token of ended) recorder.history.push({ kind: "revoke", token, alone: false, begin, end: doneAt });
  recorder.history.push({ kind: "receipt", group, ended, listedUpTo: begin - LISTED_MS, begin, end: doneAt });
}

/** The tokens that the job ended, from its receipt; null when that is unknown. */
async function receiptOf(recorder: Recorder, role: string): Promise<{ ended: string[]; doneAt: number } | null> {
  const body = { role, include_root: true, dry_run: false, expected_count: NO_LIMIT };
  const started = await recorder.send("POST", "v1/sys/tokens/revoke", { body });
  if (started?.status !== 200) return null;
  const job = text(started.body, "data", "job");
  const path = `v1/sys/tokens/jobs/${job}`;
  const until = performance.now() + JOB_MS;
  for (;;) {
    const reply = await recorder.send("GET", path);
    const state = String(member(reply?.body, "data", "state"));
    if (isAnswer(reply) && ENDED.includes(state)) {
      if (state === "done") break;
      recorder.surprise(`a job ended as ${state}`);
      return null;
    }
    if (performance.now() > until) {
      recorder.surprise(`a job did not end, state ${state}`);
      return null;
    }
    await pause(RETRY_MS);
  }
  const doneAt = performance.now();
  // A receipt lists a token once its tree has swept it. The first page says when the receipt is complete.
  const isComplete = async () =>
    member((await recorder.sendUntilAnswered("GET", `${path}/receipt`))?.body, "data", "complete") === true;
  while (!(await isComplete())) {
    if (performance.now() > until) {
      recorder.surprise(`the receipt of the done job ${job} does not become complete`);
      return null;
    }
    await pause(RETRY_MS);
  }
  const accessors: string[] = [];
  for (let after: string | null = ""; after !== null; ) {
    const page = await recorder.sendUntilAnswered("GET", `${path}/receipt${after && `?after=${after}`}`);
    if (page?.status !== 200) return null;
    accessors.push(...texts(page.body, "data", "accessors"));
    after = text(page.body, "data", "next") || null;
  }
  await verifyEnded(recorder, job);
  return { ended: recorder.named(accessors), doneAt };
}

/** Asks the trees themselves. A token that they accept counts as a use. */
async function verifyEnded(recorder: Recorder, job: string): Promise<void> {
  const begin = performance.now();
  const reply = await recorder.sendUntilAnswered("POST", "v1/sys/tokens/verify-ended", { body: { job } });
  const alive = recorder.named(texts(reply?.body, "data", "alive"));
  for (const token of alive) {
    recorder.history.push({ kind: "use", token, accepted: true, begin, end: performance.now() });
  }
}
