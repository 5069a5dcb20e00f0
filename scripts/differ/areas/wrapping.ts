import type { Round } from "../round.ts";

const TTLS = ["60", "5m", "0", "", "-1", " 5m", "1d", "soon", "1.5s", "true"] as const;

/** Wrapped answers: made, looked up, moved to another token, and opened. */
export async function wrapping(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const wrap = async (name: string, ttl: string) => {
    const what = choices.pick([
      { method: "POST", path: "sys/wrapping/wrap", body: { a: "b", n: 1 } },
      { method: "POST", path: "auth/token/create", body: { policies: ["dfa"], ttl: "10m" } },
      { method: "GET", path: "sys/mounts/cubbyhole/tune" },
      { method: "GET", path: "auth/token/roles/none" },
      { method: "DELETE", path: "cubbyhole/none" },
    ] as const);
    const answers = await round.ask("wrapped request", { ...what, headers: { "X-Vault-Wrap-TTL": ttl } });
    return round.keep(name, answers, "wrap_info", "token");
  };
  await wrap(`${prefix}w-odd`, choices.pick(TTLS));
  const name = `${prefix}w`;
  if (!(await wrap(name, "5m"))) return;
  for (let i = 0; i < 6; i++) {
    const token = `{${choices.pick([name, `${prefix}w2`])}}`;
    const path = `sys/wrapping/${choices.pick(["lookup", "lookup", "unwrap", "rewrap"])}`;
    const asCaller = choices.chance(0.4);
    const ask = { method: "POST", path, ...(asCaller ? { token } : { body: { token } }) } as const;
    const answers = await round.ask(`POST ${path}${asCaller ? " by the token itself" : ""}`, ask);
    round.keep(`${prefix}w2`, answers, "wrap_info", "token");
  }
  for (const body of [{}, { token: "" }, { token: 5 }, { token: "none" }]) {
    const path = `sys/wrapping/${choices.pick(["lookup", "unwrap", "rewrap"])}`;
    await round.ask(`POST ${path} of none`, { method: "POST", path, body });
  }
}
