import { setTimeout as sleep } from "node:timers/promises";
import { ok } from "../../../src/base/result.ts";
import { asCalled, helpAsCalled } from "../../local/command-line.ts";
import { ENDED_CHECK, type EndedCheck, type Preview, RECEIPT, type Receipt } from "../answer-schemas.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, failed, orMissing } from "../client.ts";
import { nothingIs } from "../id-formats.ts";
import { prose } from "../prose.ts";
import { harmless, type Session, styled, type Terminal } from "../terminal.ts";
import { failingLine, sendAgain } from "./leases.ts";
import { revokeSelected } from "./revoke.ts";
import { askerText, countText, number, preciseTime } from "./token-lines.ts";
import { NOT_LISTED } from "./unknown-names.ts";

/** Interval of checks, and the longest wait for the sweep and the targets of leases (ms). */
const CHECK_EVERY_MS = 1_000;
const WAIT_MS = 60_000;

/**
 * Revokes the tokens that a search, a filter or accessors select, and proves it. Before the revocation it shows the
 * numbers and asks; after it, the receipt and the answer of each tree. Returns 1 when a token, or the secret of a
 * lease, can still be used.
 */
export async function containTokens(
  session: Session,
  wanted: Extract<GroveCommand, { kind: "contain" }>,
): Promise<Called<number>> {
  if (wanted.job !== null) {
    const sent = wanted.retry ? await retryLeases(session, wanted.job) : ok(null);
    return sent.ok ? proveEnd(session, wanted.job) : sent;
  }
  return endTokens(session, wanted);
}

/** Revokes the selected tokens, and proves it; see `containTokens`. */
export async function endTokens(
  session: Session,
  wanted: Extract<GroveCommand, { kind: "contain" }>,
): Promise<Called<number>> {
  const done = await revokeSelected(session, wanted);
  if (!done.ok) return done;
  const { job, skipped } = done.value;
  // A mistyped name must not look like a service that is contained.
  if (job === null) {
    const others = wanted.accessors.length === 0 ? `; ${NOT_LISTED()}` : "";
    return failed(`${leftOutText(skipped)}: nothing was ended${others}`);
  }
  // The proof fails for a job that is not done, too.
  return proveEnd(session, job);
}

/** Says what is alive and matches, but is left out. */
function leftOutText({ root, self }: Preview["skipped"]): string {
  const parts = [
    ...(root > 0 ? [`${number(root, "root token")} (--include-root ends ${root === 1 ? "it" : "them"} too)`] : []),
    ...(self > 0 ? ["the token of this command or one above it (better ended by another administrator's token)"] : []),
  ];
  return `nothing that is alive matches${parts.length === 0 ? "" : ` but what was left out: ${parts.join(", ")}`}`;
}

/** Retries the failing leases. The check that follows reports the result. */
async function retryLeases(session: Session, job: string): Promise<Called<null>> {
  const checked = orMissing(await checkAll(session, job), nothingIs("job", job));
  if (!checked.ok) return checked;
  return sendAgain(session, checked.value.unrevoked_leases.failures);
}

async function proveEnd({ client, terminal, json }: Session, job: string): Promise<Called<number>> {
  const path = `sys/tokens/jobs/${encodeURIComponent(job)}/receipt`;
  const receipt = orMissing(await client.get(path, RECEIPT, { limit: "1" }), nothingIs("job", job));
  if (!receipt.ok) return receipt;
  if (receipt.value.finished === null)
    return failed(
      `the job is ${receipt.value.state}: ${asCalled(`revoke --job ${job}`)} follows it, and ${asCalled(`contain --job ${job}`)} proves it when it has ended`,
    );
  const checked = await checkUntilDone({ client, terminal, json }, job, receipt.value.numbers.total);
  terminal.progress(null);
  if (!checked.ok) {
    // What the job has done is known, although the trees can't be asked.
    if (json) terminal.out(JSON.stringify({ receipt: receipt.value, check: null }));
    else showReceipt(terminal, receipt.value, []);
    return failed(`whether its tokens are refused could not be asked: ${checked.error.message}`);
  }
  if (json) terminal.out(JSON.stringify({ receipt: receipt.value, check: checked.value }));
  else show(terminal, receipt.value, checked.value);
  return ok(isProven(receipt.value, checked.value) ? 0 : 1);
}

/** Asks all trees until every token is found revoked and no revocation of a lease is pending, or the time is over. */
async function checkUntilDone(session: Session, job: string, total: number): Promise<Called<EndedCheck>> {
  for (let waited = 0; ; waited += CHECK_EVERY_MS) {
    const checked = await checkAll(session, job);
    if (!checked.ok) return checked;
    const { ended, alive, unrevoked_leases: leases } = checked.value;
    const isDone = ended >= total && leases.waiting === 0;
    if (isDone || alive.length > 0 || waited >= WAIT_MS) return checked;
    session.terminal.progress(`${ended} of ${total} refused, ${leases.waiting} leases waiting`);
    await sleep(CHECK_EVERY_MS);
  }
}

async function checkAll({ client, terminal }: Session, job: string): Promise<Called<EndedCheck>> {
  let all: EndedCheck | null = null;
  for (let after = ""; ; ) {
    const page = await client.post("sys/tokens/verify-ended", ENDED_CHECK, { job, ...(after !== "" && { after }) });
    if (!page.ok) return page;
    all = all ? sumOf(all, page.value) : page.value;
    after = page.value.next;
    if (after === "") return ok(all);
    terminal.progress(`${all.checked} checked`);
  }
}

/** Most failures of leases that are collected from all pages. */
const MAX_FAILURES = 100;

function sumOf(all: EndedCheck, page: EndedCheck): EndedCheck {
  const [a, b] = [all.unrevoked_leases, page.unrevoked_leases];
  return {
    checked: all.checked + page.checked,
    ended: all.ended + page.ended,
    unknown: all.unknown + page.unknown,
    alive: [...all.alive, ...page.alive],
    unanswered: [...all.unanswered, ...page.unanswered],
    unrevoked_leases: {
      waiting: a.waiting + b.waiting,
      failing: a.failing + b.failing,
      more: a.more || b.more,
      failures: [...a.failures, ...b.failures].slice(0, MAX_FAILURES),
    },
    next: page.next,
  };
}

function isProven({ state, numbers }: Receipt, { ended, alive, unrevoked_leases: leases }: EndedCheck): boolean {
  const isRevoked = leases.waiting === 0 && leases.failing === 0 && !leases.more;
  return state === "done" && alive.length === 0 && ended >= numbers.total && isRevoked;
}

/** Width of the labels of the receipt. */
const INDENT = " ".repeat("asked by  ".length);

/** @param unanswered tokens whose trees do not answer. */
function showReceipt(terminal: Terminal, receipt: Receipt, unanswered: readonly string[]): void {
  showHead(terminal, receipt);
  showNotEnded(terminal, receipt, unanswered);
}

function showHead(terminal: Terminal, receipt: Receipt): void {
  const { job, state, asked_by: by, request_id: request, started, finished } = receipt;
  const who = by ? askerText(by) : "no token";
  terminal.out(`receipt   ${job}, ${state}`);
  for (const line of prose(terminal, harmless(who), INDENT, "asked by  ")) terminal.out(line);
  if (request !== "") terminal.out(`request   ${harmless(request)}`);
  terminal.out(`time      ${preciseTime(started)} to ${finished === null ? "?" : preciseTime(finished)}`);
}

function show(terminal: Terminal, receipt: Receipt, check: EndedCheck): void {
  const { job, numbers } = receipt;
  showHead(terminal, receipt);
  const { alive, ended } = check;
  const isRefused = alive.length === 0 && ended >= numbers.total;
  const isOpen = !isRefused && alive.length === 0;
  terminal.out(
    styled(
      terminal,
      isRefused ? "green" : "red",
      `refused   ${ended} of ${number(numbers.total, "token")}: the trees that have them were asked`,
    ),
  );
  for (const accessor of alive) terminal.out(`  can be used: ${accessor}`);
  showNotEnded(terminal, receipt, check.unanswered);
  if (isOpen)
    terminal.out(`  the others are not swept yet, or no longer kept: ${asCalled(`contain --job ${job}`)} asks again`);
  showLeases(terminal, receipt, check);
}

/** Most tokens that are named with the cause why they have not ended. */
const SHOWN_NOT_ENDED = 20;

/** What the job could not end, why, and what to do. */
function showNotEnded(terminal: Terminal, receipt: Receipt, unanswered: readonly string[]): void {
  const { job, numbers, not_ended: named } = receipt;
  if (numbers.not_ended === 0) return;
  terminal.out(
    styled(terminal, "red", `not ended ${number(numbers.not_ended, "token")} that matched, and everything below`),
  );
  for (const { accessor, cause } of named.slice(0, SHOWN_NOT_ENDED)) {
    terminal.out(`  ${accessor}: ${harmless(cause)}`);
    if (unanswered.includes(accessor)) terminal.out("    refused for now: requests with it are answered 503");
  }
  const others = numbers.not_ended - Math.min(named.length, SHOWN_NOT_ENDED);
  if (others > 0)
    terminal.out(`  ... and ${others} others: ${asCalled(`contain --job ${job} --json`)} names ${named.length}`);
  terminal.out(`  mend that, then contain what is left again: ${helpAsCalled("docs/runbook.md, A job is incomplete")}`);
}

function showLeases(
  terminal: Terminal,
  { job, state, numbers: { leases: asked, total } }: Receipt,
  { ended: refused, alive, unanswered, unrevoked_leases: leases }: EndedCheck,
): void {
  const { waiting, failing, more, failures } = leases;
  const left = waiting + failing;
  const isRevoked = left === 0 && !more;
  // A token that is alive holds its leases.
  const areAllRefused = state === "done" && refused >= total && alive.length + unanswered.length === 0;
  const ended = !areAllRefused || asked.more || more ? "" : `${Math.max(0, asked.count - left)} ended, `;
  const text = `leases    ${countText(asked, "lease")} asked, ${ended}${waiting} waiting, ${failing} failing`;
  terminal.out(styled(terminal, isRevoked ? "green" : "red", text));
  for (const failure of failures) terminal.out(failingLine(failure));
  if (failing > 0) {
    terminal.out(`  sends them again: ${asCalled(`contain --job ${job} --retry-leases`)}`);
    terminal.out(`  (${helpAsCalled("docs/runbook.md, Leases are not revoked")})`);
  }
}
