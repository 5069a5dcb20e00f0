import { ok } from "../../../src/base/result.ts";
import { asCalled, helpAsCalled } from "../../local/command-line.ts";
import { type EndedCheck, type Preview, RECEIPT, type Receipt } from "../answer-schemas.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, failed, orMissing } from "../client.ts";
import { nothingIs } from "../id-formats.ts";
import { prose } from "../prose.ts";
import { harmless, type Session, styled, type Terminal } from "../terminal.ts";
import { checkEnded, repeatCheck } from "./ended-check.ts";
import { failingLine, sendAgain } from "./leases.ts";
import { showOrphans } from "./orphans-made.ts";
import { followJob, revokeSelected } from "./revoke.ts";
import { askerText, countText, number, preciseTime } from "./token-lines.ts";
import { NOT_LISTED } from "./unknown-names.ts";

type Contain = Extract<GroveCommand, { kind: "contain" }>;

/**
 * Revokes the tokens that a search, a filter or accessors select, and proves it. Before the revocation it shows the
 * numbers and asks; after it, the receipt and the answer of each tree, and for accessors what they made that is not below
 * them. Returns 1 when a token, or the secret of a lease, can still be used.
 */
export async function containTokens(session: Session, wanted: Contain): Promise<Called<number>> {
  if (wanted.job !== null) {
    const sent = wanted.retry ? await retryLeases(session, wanted.job) : ok(null);
    return sent.ok ? proveEnd(session, wanted.job) : sent;
  }
  return endTokens(session, wanted);
}

/** Revokes tokens by their accessors, and proves it; see `containTokens`. */
export function containAccessors(
  session: Session,
  accessors: string[],
  options: Pick<Contain, "includeRoot" | "includeSelf" | "yes">,
): Promise<Called<number>> {
  const { includeRoot, includeSelf, yes } = options;
  const { json } = session;
  const selected = { kind: "contain", filter: {}, accessors, job: null, retry: false, dryRun: false, json } as const;
  return endTokens(session, { ...selected, includeRoot, includeSelf, yes });
}

async function endTokens(session: Session, wanted: Contain): Promise<Called<number>> {
  const done = await revokeSelected(session, wanted);
  if (!done.ok) return done;
  const { job, skipped } = done.value;
  // A mistyped name must not look like a service that is contained.
  if (job === null) {
    const others = wanted.accessors.length === 0 ? `; ${NOT_LISTED()}` : "";
    return failed(`${leftOutText(skipped)}: nothing was ended${others}`);
  }
  const proved = await proveEnd(session, job);
  if (!proved.ok || wanted.accessors.length === 0) return proved;
  return ok(Math.max(proved.value, await showOrphans(session, wanted.accessors)));
}

/** Says that nothing is revoked, and which live tokens match but are left out. */
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

/** Proves what a job has ended, when it has finished. The proof fails for a job that is not done, too. */
async function proveEnd(session: Session, job: string): Promise<Called<number>> {
  const { client, terminal, json } = session;
  const path = `sys/tokens/jobs/${encodeURIComponent(job)}/receipt`;
  const receipt = orMissing(await client.get(path, RECEIPT, { limit: "1" }), nothingIs("job", job));
  if (!receipt.ok) return receipt;
  if (receipt.value.finished === null) {
    const followed = await followJob(session, job, true);
    return followed.ok ? proveEnd(session, job) : followed;
  }
  const checked = await checkUntilDone(session, job, receipt.value.numbers.total);
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
function checkUntilDone(session: Session, job: string, total: number): Promise<Called<EndedCheck>> {
  return repeatCheck(
    session.terminal,
    () => checkAll(session, job),
    ({ ended, alive, unrevoked_leases: leases }) => {
      const isDone = ended >= total && leases.waiting === 0;
      return isDone || alive.length > 0 ? null : `${ended} of ${total} refused, ${leases.waiting} leases waiting`;
    },
  );
}

async function checkAll({ client, terminal }: Session, job: string): Promise<Called<EndedCheck>> {
  let all: EndedCheck | null = null;
  for (let after = ""; ; ) {
    const page = await checkEnded(client, { job, ...(after !== "" && { after }) });
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
      removed: a.removed + b.removed,
      more: a.more || b.more,
      failures: [...a.failures, ...b.failures].slice(0, MAX_FAILURES),
    },
    next: page.next,
  };
}

/** True when the trees refuse every token that the job counts. */
function areRefused({ numbers }: Receipt, { ended, alive }: EndedCheck): boolean {
  return alive.length === 0 && ended >= numbers.total;
}

function isProven(receipt: Receipt, check: EndedCheck): boolean {
  const { waiting, failing, removed, more } = check.unrevoked_leases;
  return receipt.state === "done" && areRefused(receipt, check) && waiting + failing + removed === 0 && !more;
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
  const isRefused = areRefused(receipt, check);
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

function removedText(removed: number): string {
  return removed === 0 ? "" : `, ${removed} removed without the target's answer`;
}

function showLeases(terminal: Terminal, receipt: Receipt, check: EndedCheck): void {
  const { job, state, numbers } = receipt;
  const { leases: asked } = numbers;
  const { waiting, failing, removed, more, failures } = check.unrevoked_leases;
  const left = waiting + failing + removed;
  const isRevoked = left === 0 && !more;
  // A live token keeps its leases. Leases count as ended only when every token is refused.
  const isCounted = state === "done" && areRefused(receipt, check) && check.unanswered.length === 0;
  const ended = !isCounted || asked.more || more ? "" : `${Math.max(0, asked.count - left)} ended, `;
  const text = `leases    ${countText(asked, "lease")} asked, ${ended}${waiting} waiting, ${failing} failing${removedText(removed)}`;
  terminal.out(styled(terminal, isRevoked ? "green" : "red", text));
  for (const failure of failures) terminal.out(failingLine(failure));
  if (failing > 0) {
    terminal.out(`  sends them again: ${asCalled(`contain --job ${job} --retry-leases`)}`);
    terminal.out(`  (${helpAsCalled("docs/runbook.md, Leases are not revoked")})`);
  }
}
