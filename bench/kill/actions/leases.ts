import { text } from "../../servers/client.ts";
import { TEMPERS } from "../environment.ts";
import { type Action, ending } from "../writer.ts";

/**
 * Path of the leases of a token; the number of the token in the ledger follows. So a lease whose registration had no
 * answer has a known holder, too.
 */
export const LEASE_FOLDER = "kill/t";

/** One lease in this many has an endpoint that refuses at first, and one an endpoint that always refuses. */
const ODD = 12;

const register: Action = async (writer) => {
  const holder = writer.pick("token");
  if (!holder || writer.walked.has(holder)) return;
  const temper = TEMPERS[writer.choices.below(ODD)] ?? "willing";
  const answer = await writer.ask("POST", "v1/sys/leases/register", {
    token: holder.id,
    path: `${LEASE_FOLDER}${holder.number}`,
    ttl: "24h",
    target: writer.environment.engine.target(temper),
    data: { user: writer.name },
  });
  writer.made("lease", text(answer, "lease_id"), holder);
};

const revoke = ending("lease", (writer, { id }) => {
  return writer.ask("POST", "v1/sys/leases/revoke", { lease_id: id, sync: false });
});

/** Everything below the folder of one holder: the walk over the index, which continues after the answer. */
const revokeBelow: Action = async (writer) => {
  const holder = writer.pick("lease")?.parent;
  if (!holder) return;
  writer.walked.add(holder);
  const leases = writer.living("lease").filter((lease) => lease.parent === holder);
  const path = `v1/sys/leases/revoke-prefix/${LEASE_FOLDER}${holder.number}`;
  await writer.end(leases, () => writer.ask("POST", path, { sync: false }), { promised: true });
};

/** Leases of secrets, and their revocation alone and by prefix. */
export const LEASE_ACTIONS: readonly Action[] = [register, register, revoke, revokeBelow];
