import type { Round } from "../round.ts";

const TTLS = ["60", "5m", "0", "", "-1", " 5m", "1d", "soon", "1.5s", "true"] as const;
const WRAPPED = [
  { method: "POST", path: "sys/wrapping/wrap", body: { a: "b", n: 1 } },
  { method: "POST", path: "auth/token/create", body: { policies: ["dfa"], ttl: "10m" } },
  { method: "GET", path: "sys/mounts/cubbyhole/tune" },
  { method: "GET", path: "auth/token/roles/none" },
  { method: "DELETE", path: "cubbyhole/none" },
] as const;

/** Wrapped answers: made, looked up, moved to another token, and opened. */
export async function wrapping(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const wrap = async (name: string, ttl: string) => {
    const answers = await round.ask({ ...choices.pick(WRAPPED), headers: { "X-Vault-Wrap-TTL": ttl } });
    return round.keep(name, answers, "wrap_info", "token");
  };
  await wrap(`${prefix}wOdd`, choices.pick(TTLS));
  const name = `${prefix}w`;
  if (!(await wrap(name, "5m"))) return;
  for (let i = 0; i < 6; i++) {
    const token = `{${choices.pick([name, `${prefix}w2`])}}`;
    const path = `sys/wrapping/${choices.pick(["lookup", "lookup", "unwrap", "rewrap"])}`;
    const answers = await (choices.chance(0.4) ? round.post(path, undefined, { token }) : round.post(path, { token }));
    round.keep(`${prefix}w2`, answers, "wrap_info", "token");
  }
  for (const body of [{}, { token: "" }, { token: 5 }, { token: "none" }]) {
    await round.post(`sys/wrapping/${choices.pick(["lookup", "unwrap", "rewrap"])}`, body);
  }
}
