import type { Round } from "../round.ts";
import { valueFor } from "../values.ts";

/** Leases: those of tokens by their path, and what is asked about leases that are not there. */
export async function leases(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const role = `${prefix}l`;
  const body = { orphan: true, allowed_policies: "dfa", path_suffix: choices.pick(["", "suffix"]) };
  await round.ask("POST auth/token/roles", { method: "POST", path: `auth/token/roles/${role}`, body });
  for (const name of [`${prefix}l0`, `${prefix}l1`]) {
    const create = { method: "POST", path: `auth/token/create/${role}`, body: { ttl: "1h" } } as const;
    round.keep(name, await round.ask("POST auth/token/create/:role", create), "auth", "client_token");
  }
  const below = `auth/token/create/${role}`;
  await round.ask("LIST sys/leases/lookup of none", {
    method: "LIST",
    path: `sys/leases/lookup/auth/token/create/${prefix}none`,
  });
  for (let i = 0; i < 6; i++) {
    const id = choices.pick([`${below}/h00`, "x", "", 5, null, {}, ["x"], "auth/token/create/"]);
    const path = choices.pick(["lookup", "renew", "revoke"]);
    const sent = {
      lease_id: id,
      ...(path === "renew" && choices.chance(0.5) && { increment: valueFor(choices, "duration") }),
    };
    await round.ask(`POST sys/leases/${path}`, { method: "POST", path: `sys/leases/${path}`, body: sent });
  }
  await round.ask("GET sys/leases/count", {
    method: "GET",
    path: `sys/leases/count?type=${choices.pick(["irrevocable", "x", ""])}`,
  });
  const mode = choices.pick(["revoke-prefix", "revoke-force"]);
  const sync = choices.chance(0.3) ? { body: { sync: valueFor(choices, "bool") } } : {};
  await round.ask(`POST sys/leases/${mode}`, { method: "POST", path: `sys/leases/${mode}/${below}`, ...sync });
  await round.ask("POST sys/leases/revoke-prefix of none", {
    method: "POST",
    path: `sys/leases/revoke-prefix/${prefix}none`,
  });
  if (sync.body === undefined) {
    const self = { method: "GET", path: "auth/token/lookup-self", token: `{${prefix}l0}` } as const;
    await round.ask("GET auth/token/lookup-self after revocation by prefix", self);
  }
}
