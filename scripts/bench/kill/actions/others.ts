import { text } from "../client.ts";
import type { Action, Hand } from "../hand.ts";

const WRAP = { headers: { "X-Vault-Wrap-TTL": "24h" } };

/** Policies that come and go, and wrapped answers, which can be taken once. */
export const OTHER_ACTIONS: readonly Action[] = [writePolicy, deletePolicy, wrap, unwrap, rewrap];

async function writePolicy(hand: Hand): Promise<boolean> {
  const name = hand.newName();
  const policy = 'path "secret/*" { capabilities = ["read"] }';
  if (!(await hand.ask("PUT", `v1/sys/policies/acl/${name}`, { policy }))) return false;
  hand.made("policy", name, null);
  return true;
}

async function deletePolicy(hand: Hand): Promise<boolean> {
  const policy = hand.pick("policy");
  if (!policy) return true;
  return hand.end([policy], () => hand.ask("DELETE", `v1/sys/policies/acl/${policy.id}`));
}

async function wrap(hand: Hand): Promise<boolean> {
  const answer = await hand.ask("POST", "v1/sys/wrapping/wrap", { by: hand.name }, WRAP);
  if (!answer) return false;
  hand.made("wrapped answer", text(answer, "wrap_info", "token"), null);
  return true;
}

async function unwrap(hand: Hand): Promise<boolean> {
  const wrapped = hand.pick("wrapped answer");
  if (!wrapped) return true;
  return hand.end([wrapped], () => hand.ask("POST", "v1/sys/wrapping/unwrap", { token: wrapped.id }));
}

/** The answer moves to another token. */
async function rewrap(hand: Hand): Promise<boolean> {
  const wrapped = hand.pick("wrapped answer");
  if (!wrapped) return true;
  let moved = "";
  const answered = await hand.end([wrapped], async () => {
    const answer = await hand.ask("POST", "v1/sys/wrapping/rewrap", { token: wrapped.id });
    if (answer) moved = text(answer, "wrap_info", "token");
    return answer;
  });
  if (answered) hand.made("wrapped answer", moved, null);
  return answered;
}
