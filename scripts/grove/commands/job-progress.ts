import * as z from "zod";
import type { Ms } from "../../../src/base/clock.ts";
import type { Job } from "../answer-schemas.ts";
import type { GroveClient } from "../client.ts";
import { harmless } from "../terminal.ts";

/** A job that has made no progress for this time is explained. */
const EXPLAINED_MS = 30_000;
/** A job is not waited for any longer without progress. */
const GIVEN_UP_MS = 300_000;

/** Judges by the answers of a job whether it makes progress. A failed step is progress, as the job counts it. */
export class JobProgress {
  #last = "";
  #since: Ms = 0;
  #isExplained = false;

  /** Takes an answer. `stands` is returned once for each standstill. */
  look(job: Job, now: Ms): "goes on" | "stands" | "given up" {
    const answer = JSON.stringify(job);
    if (answer !== this.#last) {
      [this.#last, this.#since, this.#isExplained] = [answer, now, false];
      return "goes on";
    }
    const stood = now - this.#since;
    if (stood >= GIVEN_UP_MS) return "given up";
    if (stood < EXPLAINED_MS || this.#isExplained) return "goes on";
    this.#isExplained = true;
    return "stands";
  }
}

const DOCTOR = z.object({ checks: z.array(z.object({ title: z.string(), state: z.string(), seen: z.string() })) });

/** Says why a job may make no progress: what fails on the server, else the last failure of the job. */
export async function whyNoProgress(client: GroveClient, job: Job): Promise<string> {
  const answered = await client.get("sys/doctor", DOCTOR);
  if (!answered.ok && answered.error.fault !== undefined) return harmless(answered.error.message);
  const failing = answered.ok ? answered.value.checks.filter(({ state }) => state === "failing") : [];
  if (failing.length > 0) return failing.map(({ title, seen }) => `${harmless(title)}: ${harmless(seen)}`).join("; ");
  const last = job.failures.at(-1);
  return last === undefined
    ? "no cause is known, another job may run before it"
    : `its last failure: ${harmless(last)}`;
}
