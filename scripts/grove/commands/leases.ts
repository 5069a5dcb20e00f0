import * as z from "zod";
import { inPool } from "../../../src/base/parallel.ts";
import { ok } from "../../../src/base/result.ts";
import { asCalled, helpAsCalled } from "../../local/command-line.ts";
import { FAILING_LEASE, type FailingLease } from "../answer-schemas.ts";
import { type Called, failed } from "../client.ts";
import { prose } from "../prose.ts";
import { harmless, type Session, styled, type Terminal } from "../terminal.ts";
import { number, shortTime } from "./token-lines.ts";

const LEASES = z.object({
  data: z.object({ leases: z.array(FAILING_LEASE) }),
  warnings: z.array(z.string()).nullish(),
});

/** Leases that are asked about at the same time. */
const PARALLEL = 4;

/**
 * Shows the leases that ended and whose targets do not accept it: their secrets can still be used. With `retry` it sends
 * each again first. The exit code is 1 while one fails.
 */
export async function showFailingLeases(session: Session, retry: boolean): Promise<Called<number>> {
  const { client, terminal, json } = session;
  const answered = await client.call("GET", "sys/leases?type=failing&limit=none");
  if (!answered.ok) return answered;
  const read = LEASES.safeParse(answered.value.body);
  if (!read.success) return failed("the server answered something else than leases");
  const { leases: listed } = read.data.data;
  const warnings = read.data.warnings ?? [];
  const sent = retry ? await sendAgain(session, listed) : ok(null);
  if (!sent.ok) return sent;
  const left = retry ? await stillFailing(session, listed) : ok(listed);
  if (!left.ok) return left;
  for (const warning of warnings) terminal.say(harmless(warning));
  if (json) terminal.out(JSON.stringify(left.value));
  else show(terminal, left.value, { sent: retry ? listed.length : null, isWhole: warnings.length === 0 });
  // A warning says that not every lease was looked at.
  return ok(left.value.length > 0 || warnings.length > 0 ? 1 : 0);
}

/** Sends revocations of leases again. The answers are not read, except for a missing right: a look-up of each lease shows its result. */
export async function sendAgain({ client, terminal }: Session, leases: readonly FailingLease[]): Promise<Called<null>> {
  let done = 0;
  const answers = await inPool(leases, PARALLEL, async ({ lease_id }) => {
    const answer = await client.call("POST", "sys/leases/revoke", { lease_id });
    terminal.progress(`${++done} of ${number(leases.length, "lease")} sent again`);
    return answer;
  });
  terminal.progress(null);
  const isRefused = answers.some((answer) => !answer.ok && answer.error.status === 403);
  return isRefused ? failed("permission denied (VAULT_TOKEN needs update on sys/leases/revoke)") : ok(null);
}

const SHOWN_LEASE = z.object({ revoke_error: z.string().optional(), next_attempt: z.string().nullish() });

/** The leases that are still there, as each look-up says: a list knows of an attempt only some seconds later. */
async function stillFailing(
  { client, terminal }: Session,
  leases: readonly FailingLease[],
): Promise<Called<FailingLease[]>> {
  let done = 0;
  const looked = await inPool(leases, PARALLEL, async (lease) => {
    const found = await client.post("sys/leases/lookup", SHOWN_LEASE, { lease_id: lease.lease_id });
    terminal.progress(`${++done} of ${number(leases.length, "lease")} looked at`);
    return { lease, found };
  });
  terminal.progress(null);
  const left: FailingLease[] = [];
  for (const { lease, found } of looked) {
    if (found.ok) {
      const { revoke_error: error = lease.error, next_attempt: next = null } = found.value;
      left.push({ ...lease, error, next_attempt: next });
      // The answer about a lease that is revoked is a 400.
    } else if (found.error.status !== 400) return found;
  }
  return ok(left);
}

/** A failing lease as a line below a list or a receipt. */
export function failingLine({ lease_id: id, error, next_attempt: next }: FailingLease): string {
  return `  ${harmless(id)}: ${harmless(error)}, ${next ? `next attempt at ${shortTime(next)}` : "irrevocable"}`;
}

/**
 * @param sent how many were sent again; null: none.
 * @param isWhole true when every lease was looked at.
 */
function show(
  terminal: Terminal,
  leases: readonly FailingLease[],
  { sent, isWhole }: { readonly sent: number | null; readonly isWhole: boolean },
): void {
  const again = sent === null ? "" : `${sent} sent again, `;
  if (leases.length === 0) {
    const none = isWhole
      ? "none is irrevocable, and none that ended lately fails"
      : "none of those that were looked at fails";
    terminal.out(styled(terminal, isWhole ? "green" : "yellow", `${again}${none}`));
    return;
  }
  for (const lease of leases) {
    terminal.out(failingLine(lease));
    if (lease.accessor) terminal.out(`    of the token ${harmless(lease.accessor)}`);
  }
  terminal.out(
    styled(terminal, "red", `${again}${number(leases.length, "lease")} not revoked: the secret of each can be used`),
  );
  const retry = `Once their service answers, ${asCalled("leases --retry")} sends them again (${helpAsCalled("docs/runbook.md, Leases are not revoked")}).`;
  for (const line of prose(terminal, retry, "")) terminal.out(line);
}
