import type { Round } from "../round.ts";
import { valueFor } from "../values.ts";

/** Leases: those of tokens by their path, and what is asked about leases that are not there. */
export async function leases(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const below = `auth/token/create/${prefix}l`;
  const role = { orphan: true, allowed_policies: "dfa", path_suffix: choices.pick(["", "suffix"]) };
  await round.post(`auth/token/roles/${prefix}l`, role);
  for (const name of [`${prefix}l0`, `${prefix}l1`]) round.keepToken(name, await round.post(below, { ttl: "1h" }));
  await round.list(`sys/leases/lookup/auth/token/create/${prefix}none`);
  for (let i = 0; i < 6; i++) {
    const id = choices.pick([`${below}/h00`, "x", "", 5, null, {}, ["x"], "auth/token/create/"]);
    const path = choices.pick(["lookup", "renew", "revoke"]);
    const increment = path === "renew" && choices.chance(0.5) && { increment: valueFor(choices, "duration") };
    await round.post(`sys/leases/${path}`, { lease_id: id, ...increment });
  }
  await round.get(`sys/leases/count?type=${choices.pick(["irrevocable", "x", ""])}`);
  const mode = choices.pick(["revoke-prefix", "revoke-force"]);
  const sync = choices.chance(0.3) ? { sync: valueFor(choices, "bool") } : undefined;
  await round.post(`sys/leases/${mode}/${below}`, sync);
  await round.post(`sys/leases/revoke-prefix/${prefix}none`);
  if (sync === undefined) await round.get("auth/token/lookup-self", { token: `{${prefix}l0}` });
}
