import { text } from "../client.ts";
import type { Action, Hand } from "../hand.ts";
import type { Entry } from "../ledger.ts";

const FIELDS = { ttl: "24h", policies: ["root"] };

/** Tokens of a role that are worth a walk. */
const MANY = 8;

/** Creations and revocations of tokens, of all shapes. */
export const TOKEN_ACTIONS: readonly Action[] = [
  (hand) => create(hand, hand.kept.maker),
  (hand) => create(hand, hand.pick("token") ?? hand.kept.maker),
  (hand) => create(hand, null),
  (hand) => revoke(hand, "revoke", false),
  (hand) => revoke(hand, "revoke", false),
  (hand) => revoke(hand, "revoke-orphan", true),
  createByRole,
  createByRole,
  revokeRole,
];

async function create(hand: Hand, parent: Entry | null): Promise<boolean> {
  const path = `v1/auth/token/${parent ? "create" : "create-orphan"}`;
  const answer = await hand.ask("POST", path, FIELDS, parent ? { token: parent.id } : {});
  if (!answer) return false;
  hand.made("token", text(answer, "auth", "client_token"), parent, text(answer, "auth", "accessor"));
  return true;
}

async function revoke(hand: Hand, endpoint: string, alone: boolean): Promise<boolean> {
  const token = hand.pick("token");
  if (!token) return true;
  return hand.end([token], () => hand.ask("POST", `v1/auth/token/${endpoint}`, { token: token.id }), { alone });
}

/** An orphan of a role, so that the tokens of one path are in many trees. */
async function createByRole(hand: Hand): Promise<boolean> {
  hand.role ??= await writeRole(hand);
  if (hand.role === null) return false;
  const answer = await hand.ask("POST", `v1/auth/token/create/${hand.role}`, FIELDS);
  if (!answer) return false;
  hand.made("role token", text(answer, "auth", "client_token"), null, text(answer, "auth", "accessor"));
  return true;
}

async function writeRole(hand: Hand): Promise<string | null> {
  const name = hand.newName();
  const fields = { orphan: true, allowed_policies: "root" };
  return (await hand.ask("POST", `v1/auth/token/roles/${name}`, fields)) ? name : null;
}

/** All tokens of a role at once, by the path that made them: a walk through every shard. */
async function revokeRole(hand: Hand): Promise<boolean> {
  const tokens = hand.living("role token");
  if (tokens.length < MANY || hand.role === null) return true;
  const path = `v1/sys/leases/revoke-prefix/auth/token/create/${hand.role}`;
  // A token that is made while the walk goes on may or may not be met: the next ones have another path.
  hand.role = null;
  return hand.end(tokens, () => hand.ask("POST", path, { sync: false }), { promised: true });
}
