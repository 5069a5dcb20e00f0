import type { Round } from "../round.ts";

const PATHS = ["a", "a/b", "a/b/c", "b", "B", "b c", "", "a/", "é", "a.b"] as const;
const DEEP = { deep: { list: [1, "x", { y: true }] } };
const BODIES = [{ v: 1 }, { v: null }, {}, DEEP, { v: 1.5, w: "z" }, [1], "x", null] as const;

/** The private store of a token. */
export async function cubbyhole(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const made = await round.post("auth/token/create", { policies: ["default"], ttl: "1h" });
  if (!round.keepToken(`${prefix}c`, made)) return;
  const token = `{${prefix}c}`;
  for (let i = 0; i < 15; i++) {
    const method = choices.pick(["GET", "POST", "POST", "DELETE", "LIST"]);
    const path = `cubbyhole/${encodeURI(choices.pick(PATHS))}`;
    const sent = method === "POST" ? { body: choices.pick(BODIES) } : {};
    await round.ask({ method, path, token, ...sent });
  }
}
