import type { Round } from "../round.ts";

const PATHS = ["a", "a/b", "a/b/c", "b", "B", "b c", "", "a/", "é", "a.b"] as const;
const BODIES = [
  { v: 1 },
  { v: null },
  {},
  { deep: { list: [1, "x", { y: true }] } },
  { v: 1.5, w: "z" },
  [1],
  "x",
  null,
] as const;

/** The private store of a token. */
export async function cubbyhole(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const body = { policies: ["default"], ttl: "1h" };
  const made = await round.ask("POST auth/token/create", { method: "POST", path: "auth/token/create", body });
  if (!round.keep(`${prefix}c`, made, "auth", "client_token")) return;
  const token = `{${prefix}c}`;
  for (let i = 0; i < 15; i++) {
    const method = choices.pick(["GET", "POST", "POST", "DELETE", "LIST"]);
    const path = `cubbyhole/${encodeURI(choices.pick(PATHS))}`;
    const sent = method === "POST" ? { body: choices.pick(BODIES) } : {};
    await round.ask(`${method} cubbyhole`, { method, path, token, ...sent });
  }
}
