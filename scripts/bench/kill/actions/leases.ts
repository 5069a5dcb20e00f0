import { text } from "../client.ts";
import { TEMPERS } from "../engine.ts";
import type { Action, Hand } from "../hand.ts";

/** Where the leases of a token are: its place in the ledger says whose they are, also of those that were not answered. */
export const LEASE_FOLDER = "kill/t";

/** Of so many leases one has a target that refuses at first, and one a target that always does. */
const ODD = 12;

/** Leases of secrets, and their revocation alone and by prefix. */
export const LEASE_ACTIONS: readonly Action[] = [register, register, revoke, revokeBelow, tidy];

async function register(hand: Hand): Promise<boolean> {
  const holder = hand.pick("token");
  if (!holder || hand.walked.has(holder)) return true;
  const temper = TEMPERS[Math.floor(hand.random() * ODD)] ?? "willing";
  const answer = await hand.ask("POST", "v1/sys/leases/register", {
    token: holder.id,
    path: `${LEASE_FOLDER}${holder.number}`,
    ttl: "24h",
    target: hand.world.engine.target(temper),
    data: { user: hand.name },
  });
  if (!answer) return false;
  hand.made("lease", text(answer, "lease_id"), holder);
  return true;
}

async function revoke(hand: Hand): Promise<boolean> {
  const lease = hand.pick("lease");
  if (!lease) return true;
  return hand.end([lease], () => hand.ask("POST", "v1/sys/leases/revoke", { lease_id: lease.id, sync: false }));
}

/** Everything below the folder of one holder: the walk over the index, which goes on after its answer. */
async function revokeBelow(hand: Hand): Promise<boolean> {
  const holder = hand.pick("lease")?.parent;
  if (!holder) return true;
  hand.walked.add(holder);
  const leases = hand.living("lease").filter((lease) => lease.parent === holder);
  const path = `v1/sys/leases/revoke-prefix/${LEASE_FOLDER}${holder.number}`;
  return hand.end(leases, () => hand.ask("POST", path, { sync: false }), { promised: true });
}

/** Lets a run of tidy begin, if none is under way: entries without a token wait for it (damage.ts). */
async function tidy(hand: Hand): Promise<boolean> {
  return (await hand.ask("POST", "v1/auth/token/tidy", {})) !== null;
}
