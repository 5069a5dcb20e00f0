import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { err, ok, type Result } from "../../../src/base/result.ts";
import { JOB, type Job, PREVIEW, type Preview, STARTED } from "../answers.ts";
import type { GroveCommand } from "../arguments.ts";
import type { CallFailure, GroveClient } from "../client.ts";
import { styled, type Terminal } from "../terminal.ts";
import { countText, number, tokenTable } from "./token-lines.ts";

const LOOK_EVERY_MS = 500;

/**
 * Shows what a revocation would take, asks, and carries it out. The server gets the number that was shown, and refuses when
 * it has grown since.
 */
export async function revokeTokens(
  client: GroveClient,
  terminal: Terminal,
  wanted: Extract<GroveCommand, { kind: "revoke" }>,
): Promise<Result<number, CallFailure>> {
  const { filter, accessors, includeRoot, includeSelf, dryRun, yes, json } = wanted;
  const asked = {
    ...filter,
    ...(accessors.length > 0 && { accessors }),
    include_root: includeRoot,
    include_self: includeSelf,
  };
  const preview = await client.post("sys/tokens/revoke", PREVIEW, { ...asked, dry_run: true });
  if (!preview.ok) return preview;
  const { count, more } = preview.value;
  if (json && (dryRun || count === 0)) terminal.out(JSON.stringify(preview.value));
  else if (!json) showPreview(terminal, preview.value);
  if (dryRun || count === 0) return ok(0);
  if (more) return err(refused(`more than ${count} tokens: narrow the filter`));
  if (!yes && !(await isConfirmed(terminal, count))) return err(refused("nothing was revoked"));
  const body = { ...asked, dry_run: false, expected_count: count };
  const started = await client.post("sys/tokens/revoke", STARTED, body);
  if (!started.ok) return started;
  return followJob(client, terminal, started.value.job, json);
}

/** Shows the progress of a revocation until it ends. The revocation continues without this command. */
export async function followJob(
  client: GroveClient,
  terminal: Terminal,
  id: string,
  json: boolean,
): Promise<Result<number, CallFailure>> {
  if (!json)
    terminal.say(`job ${id}; it continues without this command: --job ${id} follows it, --stop ${id} stops it`);
  for (;;) {
    const job = await client.get(`sys/tokens/jobs/${encodeURIComponent(id)}`, JOB);
    terminal.progress(null);
    if (!job.ok) return job;
    if (job.value.state !== "running") return ok(showEnd(terminal, job.value, json));
    const { revoked, expected } = job.value;
    terminal.progress(`${revoked} of ${expected} revoked`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** Stops a revocation. What it has revoked stays revoked. */
export async function stopJob(
  client: GroveClient,
  terminal: Terminal,
  id: string,
  json: boolean,
): Promise<Result<number, CallFailure>> {
  const stopped = await client.post(`sys/tokens/jobs/${encodeURIComponent(id)}/stop`, z.unknown(), {});
  return stopped.ok ? followJob(client, terminal, id, json) : stopped;
}

function showPreview(terminal: Terminal, { count, more, sample, leases, skipped }: Preview): void {
  if (sample.length > 0) for (const line of tokenTable(terminal, sample)) terminal.out(line);
  if (count > sample.length) terminal.out(`... and ${count - sample.length}${more ? " or more" : ""} others`);
  const what = `${countText({ count, more })} tokens, with everything below them, and ${countText(leases)} leases would end`;
  terminal.out(styled(terminal, count > 0 ? "yellow" : "green", what));
  if (skipped.root > 0) terminal.out(`left out: ${number(skipped.root, "root token")} (--include-root)`);
  if (skipped.self > 0) terminal.out("left out: the token of this command (--include-self)");
}

async function isConfirmed(terminal: Terminal, count: number): Promise<boolean> {
  if (!terminal.interactive) {
    terminal.say("there is no terminal to ask on; --yes revokes without a question");
    return false;
  }
  return (await terminal.ask(`Type ${count} to revoke them: `)).trim() === String(count);
}

function showEnd(terminal: Terminal, job: Job, json: boolean): number {
  const { state, revoked, expected, failures } = job;
  if (json) terminal.out(JSON.stringify(job));
  else {
    const style = state === "done" && failures.length === 0 ? "green" : "red";
    terminal.out(styled(terminal, style, `${state}: ${revoked} of ${expected} revoked, ${failures.length} failures`));
  }
  return state === "done" && failures.length === 0 ? 0 : 1;
}

function refused(message: string): CallFailure {
  return { status: null, message };
}
