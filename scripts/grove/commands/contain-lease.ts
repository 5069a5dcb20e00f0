import { setTimeout as sleep } from "node:timers/promises";
import { ok } from "../../../src/base/result.ts";
import { asCalled, helpAsCalled } from "../../local/command-line.ts";
import { ENDED_CHECK, type EndedCheck } from "../answer-schemas.ts";
import { type Called, failed } from "../client.ts";
import { harmless, type Session, styled } from "../terminal.ts";
import type { TextToFind } from "./find-texts.ts";
import { failingLine } from "./leases.ts";
import { isConfirmed } from "./revoke.ts";

/** Interval of checks, and the longest wait for the target of the lease (ms). */
const CHECK_EVERY_MS = 1_000;
const WAIT_MS = 60_000;

/** Revokes a leaked lease alone, without the token that holds it, and proves that its target accepted the end. */
export async function containLease(
  session: Session,
  { yes }: { readonly yes: boolean },
  { candidates }: TextToFind,
): Promise<Called<number>> {
  const { client, terminal, json } = session;
  const held = await checkLeases(session, candidates);
  if (!held.ok) return held;
  const [leaseId] = held.value.alive;
  if (leaseId === undefined)
    return failed(
      `nothing was ended: give the id of the lease alone, or end its token: ${asCalled("contain --accessor")}`,
    );
  const question = "Type revoke to revoke this lease, and not its token: ";
  if (!yes && !(await isConfirmed(terminal, question, "revoke"))) return failed("nothing was ended");
  const revoked = await client.call("POST", "sys/leases/revoke", { lease_id: leaseId });
  if (!revoked.ok && revoked.error.status === 403) return failed("VAULT_TOKEN needs update on sys/leases/revoke");
  // Another failure may be that of the target: the check reports whether the lease has ended.
  const checked = await untilSent(session, leaseId);
  if (!checked.ok) return checked;
  if (json) terminal.out(JSON.stringify({ lease_id: leaseId, check: checked.value }));
  const { ended, unrevoked_leases: left } = checked.value;
  if (ended === 1) {
    if (!json)
      terminal.out(styled(terminal, "green", `revoked: asked again, the lease ${harmless(leaseId)} has ended`));
    return ok(0);
  }
  for (const failure of left.failures) terminal.say(failingLine(failure));
  return failed(
    `it is not proved that the lease has ended: its secret can still be used; ${asCalled("leases --retry")} sends it again (${helpAsCalled("docs/runbook.md, Leases are not revoked")})`,
  );
}

function checkLeases({ client }: Session, leaseIds: readonly string[]): Promise<Called<EndedCheck>> {
  return client.post("sys/tokens/verify-ended", ENDED_CHECK, { lease_ids: leaseIds });
}

async function untilSent(session: Session, leaseId: string): Promise<Called<EndedCheck>> {
  for (let waited = 0; ; waited += CHECK_EVERY_MS) {
    const checked = await checkLeases(session, [leaseId]);
    if (!checked.ok || checked.value.unrevoked_leases.waiting === 0 || waited >= WAIT_MS) return checked;
    session.terminal.progress("its target has not answered yet");
    await sleep(CHECK_EVERY_MS);
  }
}
