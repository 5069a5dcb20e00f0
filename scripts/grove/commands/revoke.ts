import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { err, ok } from "../../../src/base/result.ts";
import { asCalled } from "../../local/command-line.ts";
import { COUNTED, JOB, type Job, type Preview, STARTED } from "../answer-schemas.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, failed, type GroveClient, orMissing } from "../client.ts";
import { byWhatWasTyped, nothingIs } from "../id-formats.ts";
import { harmless, type Session, styled, type Terminal } from "../terminal.ts";
import { namesOfEntities } from "./entity-names.ts";
import { JobProgress, whyNoProgress } from "./job-progress.ts";
import { countText, NO_VALUE, number, tokenTable } from "./token-lines.ts";
import { unknownName } from "./unknown-names.ts";

/** The first pause between two looks at a job, and the longest; each is twice the one before. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 500;
/** Looks at a job before it is said how to follow and stop it. A small job has ended by then. */
const QUIET_LOOKS = 4;
const GROUPINGS = ["mount", "type", "role", "owner"] as const;
/** The owner is the metadata field `owner`; without it, the entity. */
const NAMES = { mount: "mount", type: "type", role: "role", owner: "owner or entity" } as const;
/** Most groups in a line. */
const SHOWN_GROUPS = 8;

type Wanted = Extract<GroveCommand, { kind: "revoke" | "contain" }>;

/** Shows what a revocation would end, asks for confirmation, and revokes. */
export async function revokeTokens(session: Session, wanted: Wanted): Promise<Called<number>> {
  const done = await revokeSelected(session, wanted);
  return done.ok ? ok(done.value.code) : done;
}

/**
 * Like `revokeTokens`. The server gets the numbers that were shown, and refuses when one has grown since.
 *
 * @returns the exit code, the job (null when nothing was revoked), and what was left out.
 */
export async function revokeSelected(
  session: Session,
  wanted: Wanted,
): Promise<Called<{ readonly code: number; readonly job: string | null; readonly skipped: Preview["skipped"] }>> {
  const { client, terminal, json } = session;
  const { filter, accessors, includeRoot, includeSelf, dryRun, yes } = wanted;
  const asked = {
    ...filter,
    ...(accessors.length > 0 && { accessors }),
    include_root: includeRoot,
    include_self: includeSelf,
  };
  const preview = await count(session, asked);
  if (!preview.ok) return err(byWhatWasTyped(preview.error, wanted));
  const { count: matched, total, skipped } = preview.value;
  if (json && (dryRun || total === 0)) terminal.out(JSON.stringify(preview.value));
  else if (!json) showPreview(terminal, preview.value, await ownerNames(client, preview.value));
  const unknown = matched === 0 ? await unknownName(client, filter) : null;
  if (unknown !== null) return failed(unknown);
  if (dryRun || total === 0) return ok({ code: 0, job: null, skipped });
  // With --json the numbers are not shown, so there is nothing to confirm.
  if (json && !yes)
    return failed("nothing was revoked: with --json nothing is asked; --yes revokes, revoke --dry-run counts");
  const question = `Type ${total} to end them: `;
  if (!yes && !(await isConfirmed(terminal, question, String(total)))) return failed("nothing was revoked");
  const body = { ...asked, dry_run: false, expected_count: matched, expected_total: total };
  const started = await client.post("sys/tokens/revoke", STARTED, body);
  if (!started.ok) return started;
  const { job } = started.value;
  // The JSON output of `contain` is the receipt, so the job is not printed.
  const code = await followJob(session, job, wanted.kind === "contain", () => {
    if (!json) for (const line of jobLines(job)) terminal.say(line);
  });
  return code.ok ? ok({ code: code.value, job, skipped }) : code;
}

/** The service does a job, not this command: how to follow and to stop it, in commands that can be copied. */
function jobLines(job: string): string[] {
  return [
    `job ${job}, which the service does, also without this command:`,
    `  ${asCalled(`revoke --job ${job}`)}   follows it`,
    `  ${asCalled(`revoke --stop ${job}`)}  stops it`,
  ];
}

/** Counts what would end. A count that continues in a job is followed to its end. */
export async function count(session: Session, asked: Readonly<Record<string, unknown>>): Promise<Called<Preview>> {
  const answer = await session.client.post("sys/tokens/revoke", COUNTED, { ...asked, dry_run: true });
  if (!answer.ok) return answer;
  if (!("job" in answer.value)) return ok(answer.value);
  const job = await ended(session, answer.value.job, "revoke");
  if (!job.ok) return job;
  const { state, preview } = job.value;
  return state === "counted" && preview ? ok(preview) : failed(`the count is ${state}`);
}

/**
 * Shows the progress of a revocation until it ends, or stands still for long. The revocation continues without this
 * command.
 *
 * @param isQuiet true for `contain`, which shows the receipt afterwards.
 * @param unfinished called once if it has not ended after QUIET_LOOKS.
 */
export async function followJob(
  session: Session,
  id: string,
  isQuiet = false,
  unfinished: () => void = () => {},
): Promise<Called<number>> {
  const { terminal, json } = session;
  const job = await ended(session, id, isQuiet ? "contain" : "revoke", unfinished);
  return job.ok ? ok(showEnd(terminal, job.value, json, isQuiet)) : job;
}

/**
 * Waits for the end of a job. Fails when the job can't be read, or makes no progress for long.
 *
 * @param command continues, with the job.
 */
async function ended(
  { client, terminal }: Session,
  id: string,
  command: "revoke" | "contain",
  unfinished = () => {},
): Promise<Called<Job>> {
  const progress = new JobProgress();
  const goesOn = `the service goes on with it: ${asCalled(`${command} --job ${id}`)} continues`;
  for (let looks = 0; ; looks++) {
    const called = await client.get(`sys/tokens/jobs/${encodeURIComponent(id)}`, JOB);
    terminal.progress(null);
    if (!called.ok && called.error.status === 503)
      return err({ ...called.error, message: `${called.error.message}; ${goesOn}` });
    const job = orMissing(called, nothingIs("job", id));
    if (!job.ok) return job;
    const { state, counted, total, finished, preview } = job.value;
    if (finished !== null) return job;
    if (looks === QUIET_LOOKS) unfinished();
    const seen = progress.look(job.value, Date.now());
    if (seen !== "goes on") {
      const why = await whyNoProgress(client, job.value);
      if (seen === "given up") return failed(`job ${id} makes no progress (${why}); ${goesOn}`);
      terminal.say(`job ${id} waits (${why})`);
    }
    const ofAll = `job ${id}: ${total} of ${preview?.total ?? 0} ended`;
    if (state === "counting") terminal.progress(`${counted} counted so far`);
    else terminal.progress(state === "stopped" ? `${ofAll}, stops after this step` : ofAll);
    await sleep(Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** looks));
  }
}

/** Stops a revocation. What it has revoked stays revoked. */
export async function stopJob(session: Session, id: string): Promise<Called<number>> {
  const path = `sys/tokens/jobs/${encodeURIComponent(id)}/stop`;
  const stopped = orMissing(await session.client.post(path, z.unknown(), {}), nothingIs("job", id));
  return stopped.ok ? followJob(session, id) : stopped;
}

/** Names of owners that are entities. */
function ownerNames(client: GroveClient, { by: { owner } }: Preview): Promise<ReadonlyMap<string, string>> {
  return namesOfEntities(
    client,
    owner.slice(0, SHOWN_GROUPS).map(({ key }) => key),
  );
}

/** @param names of owners that have another key than their name. */
function showPreview(
  terminal: Terminal,
  { count, total, sample, leases, by, skipped }: Preview,
  names: ReadonlyMap<string, string>,
): void {
  if (sample.length > 0) for (const line of tokenTable(terminal, sample)) terminal.out(line);
  if (count > sample.length) terminal.out(`... and ${count - sample.length} others`);
  const what = `${number(count, "token")} match${count === 1 ? "es" : ""}; ${total} end in all, with everything below, and ${countText(leases, "lease")}`;
  const isLeftOut = skipped.root + skipped.self > 0;
  terminal.out(styled(terminal, total > 0 || isLeftOut ? "yellow" : "green", what));
  for (const name of GROUPINGS) {
    if (by[name].some(({ key }) => key !== ""))
      terminal.out(`by ${NAMES[name]}: ${groupsText(by[name], total, names)}`);
  }
  if (skipped.root > 0) terminal.out(`left out: ${number(skipped.root, "root token")} (--include-root)`);
  if (skipped.self > 0) terminal.out("left out: the token of this command (--include-self)");
}

function groupsText(groups: Preview["by"]["mount"], total: number, names: ReadonlyMap<string, string>): string {
  const shown = groups.slice(0, SHOWN_GROUPS);
  const rest = total - shown.reduce((sum, { count }) => sum + count, 0);
  const parts = shown.map(({ key, count }) => `${key === "" ? NO_VALUE : harmless(names.get(key) ?? key)} ${count}`);
  return [...parts, ...(rest > 0 ? [`others ${rest}`] : [])].join(", ");
}

/** Asks a question. Returns true for the answer that confirms it. */
export async function isConfirmed(terminal: Terminal, question: string, answer: string): Promise<boolean> {
  if (!terminal.interactive) {
    terminal.say("there is no terminal to ask on; --yes asks no question");
    return false;
  }
  return (await terminal.ask(question)).trim() === answer;
}

function showEnd(terminal: Terminal, job: Job, json: boolean, isQuiet: boolean): number {
  const { state, matched, revoked, ended_before: before, total, preview, failures, not_ended: left } = job;
  if (json) {
    if (!isQuiet) terminal.out(JSON.stringify(job));
  } else {
    const style = state === "done" && failures.length === 0 ? "green" : "red";
    const ofMatched = revoked === matched ? "" : ` of the ${matched ?? 0}`;
    const of = `${total} of ${preview?.total ?? 0} ended, ${revoked}${ofMatched} that matched and everything below`;
    const others = (before > 0 ? `, ${before} had ended already` : "") + (left > 0 ? `, ${left} not ended` : "");
    terminal.out(styled(terminal, style, `${state}: ${of}${others}, ${number(failures.length, "failure")}`));
    const last = failures.at(-1);
    if (last !== undefined) terminal.say(`the last failure: ${harmless(last)}`);
    if (left > 0 && !isQuiet) terminal.say(`which and why: ${asCalled(`contain --job ${job.id}`)}`);
    if (state === "refused") terminal.say("more would end than was counted before: nothing was revoked");
  }
  return state === "done" && failures.length === 0 ? 0 : 1;
}
