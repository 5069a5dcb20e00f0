import { ok } from "../../../src/base/result.ts";
import { asCalled, helpAsCalled } from "../../local/command-line.ts";
import { type Called, failed } from "../client.ts";
import { harmless, type Session, styled } from "../terminal.ts";
import { checkEnded, repeatCheck } from "./ended-check.ts";
import type { TextToFind } from "./find-texts.ts";
import { failingLine } from "./leases.ts";
import { isConfirmed } from "./revoke.ts";

/** Revokes a leaked lease but not the token that holds it, and proves that its target accepted the revocation. */
export async function containLease(
  session: Session,
  { yes }: { readonly yes: boolean },
  { candidates }: TextToFind,
): Promise<Called<number>> {
  const { client, terminal } = session;
  const held = await checkEnded(client, { lease_ids: candidates });
  if (!held.ok) return held;
  const [leaseId] = held.value.alive;
  if (leaseId === undefined)
    return failed(
      `nothing was ended: give the id of the lease alone, or end its token: ${asCalled("contain --accessor")}`,
    );
  const question = "Type revoke to revoke this lease, and not its token: ";
  if (!yes && !(await isConfirmed(terminal, question, "revoke"))) return failed("nothing was ended");
  return revokeLease(session, leaseId);
}

/**
 * Revokes a lease, or sends its revocation again, and proves that its target accepted it. As long as its token is alive,
 * no list has such a lease before it is irrevocable.
 */
export async function revokeLease(session: Session, leaseId: string): Promise<Called<number>> {
  const { client, terminal, json } = session;
  const revoked = await client.call("POST", "sys/leases/revoke", { lease_id: leaseId });
  if (!revoked.ok && revoked.error.status === 403) return failed("VAULT_TOKEN needs update on sys/leases/revoke");
  // Any other failure may come from the target. The check reports whether the lease has ended.
  const checked = await repeatCheck(
    terminal,
    () => checkEnded(client, { lease_ids: [leaseId] }),
    ({ unrevoked_leases: leases }) => (leases.waiting === 0 ? null : "its target has not answered yet"),
  );
  if (!checked.ok) return checked;
  if (json) terminal.out(JSON.stringify({ lease_id: leaseId, check: checked.value }));
  const { ended, unrevoked_leases: left } = checked.value;
  if (ended === 1) {
    if (!json)
      terminal.out(styled(terminal, "green", `revoked: asked again, the lease ${harmless(leaseId)} has ended`));
    return ok(0);
  }
  if (left.removed > 0)
    return failed("it is not proved that the lease has ended: it was removed by force, without its target's answer");
  for (const failure of left.failures) terminal.say(failingLine(failure));
  return failed(
    `it is not proved that the lease has ended: its secret can still be used; once its service answers, ${asCalled("contain -")} with this id sends it again (${helpAsCalled("docs/runbook.md, Leases are not revoked")})`,
  );
}
