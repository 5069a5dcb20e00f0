import { text } from "../client.ts";
import { TEMPERS } from "../engine.ts";
import type { Action, WriterClient } from "../writer-client.ts";

/**
 * Path of the leases of a token; the index of the token in the ledger follows. So leases whose registration had no
 * answer can be attributed, too.
 */
export const LEASE_FOLDER = "kill/t";

/** One lease in this many has an endpoint that refuses at first, and one an endpoint that always refuses. */
const ODD = 12;

/** Leases of secrets, and their revocation alone and by prefix. */
export const LEASE_ACTIONS: readonly Action[] = [register, register, revoke, revokeBelow, tidy];

async function register(writer: WriterClient): Promise<boolean> {
  const holder = writer.pick("token");
  if (!holder || writer.walked.has(holder)) return true;
  const temper = TEMPERS[Math.floor(writer.random() * ODD)] ?? "willing";
  const answer = await writer.ask("POST", "v1/sys/leases/register", {
    token: holder.id,
    path: `${LEASE_FOLDER}${holder.number}`,
    ttl: "24h",
    target: writer.environment.engine.target(temper),
    data: { user: writer.name },
  });
  if (!answer) return false;
  writer.made("lease", text(answer, "lease_id"), holder);
  return true;
}

async function revoke(writer: WriterClient): Promise<boolean> {
  const lease = writer.pick("lease");
  if (!lease) return true;
  return writer.end([lease], () => writer.ask("POST", "v1/sys/leases/revoke", { lease_id: lease.id, sync: false }));
}

/** Everything below the folder of one holder: the walk over the index, which goes on after its answer. */
async function revokeBelow(writer: WriterClient): Promise<boolean> {
  const holder = writer.pick("lease")?.parent;
  if (!holder) return true;
  writer.walked.add(holder);
  const leases = writer.living("lease").filter((lease) => lease.parent === holder);
  const path = `v1/sys/leases/revoke-prefix/${LEASE_FOLDER}${holder.number}`;
  return writer.end(leases, () => writer.ask("POST", path, { sync: false }), { promised: true });
}

/** Starts a run of tidy, unless one is under way: it removes the dangling entries of damage.ts. */
async function tidy(writer: WriterClient): Promise<boolean> {
  return (await writer.ask("POST", "v1/auth/token/tidy", {})) !== null;
}
