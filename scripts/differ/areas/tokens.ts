import type { Answers, Round } from "../round.ts";
import { type Kind, someFields, valueFor } from "../values.ts";

export const CREATE_FIELDS: Readonly<Record<string, Kind>> = {
  policies: "policies",
  ttl: "duration",
  lease: "duration",
  explicit_max_ttl: "duration",
  period: "duration",
  num_uses: "int",
  renewable: "bool",
  no_parent: "bool",
  no_default_policy: "bool",
  display_name: "text",
  meta: "pairs",
  type: "text",
};
/** What callers of each rank may do. */
const RANKS = { sudo: ["dfsudo"], plain: ["dfa", "dfcreate"] } as const;

/** Tokens of callers of several ranks: made, looked up, renewed, used and revoked. */
export async function tokens(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const callers: string[] = [];
  for (const [rank, policies] of Object.entries(RANKS)) {
    const made = await round.post("auth/token/create", { policies, ttl: "1h" });
    if (round.keepToken(prefix + rank, made)) callers.push(`{${prefix}${rank}}`);
  }
  const names: string[] = [];
  for (let i = 0; i < 14; i++) {
    const target = names[choices.below(names.length)] ?? "none";
    switch (choices.below(7)) {
      case 0:
      case 1: {
        const made = await create(round, callers);
        const name = `${prefix}t${i}`;
        if (round.keepToken(name, made)) names.push(name);
        round.keep(`${name}a`, made, "auth", "accessor");
        break;
      }
      case 2:
        await round.post("auth/token/lookup", { token: `{${target}}` });
        break;
      case 3:
        await round.get("auth/token/lookup-self", { token: `{${target}}` });
        break;
      case 4: {
        const endpoint = choices.pick(["renew", "renew-self", "renew-accessor"]);
        await about(round, endpoint, target, choices.chance(0.6) ? { increment: valueFor(choices, "duration") } : {});
        break;
      }
      case 5:
        await about(round, choices.pick(["revoke", "revoke-self", "revoke-accessor", "revoke-orphan"]), target);
        break;
      default:
        await about(round, "lookup-accessor", target);
    }
  }
}

async function create(round: Round, callers: readonly string[]): Promise<Answers> {
  const { choices } = round;
  const endpoint = choices.pick(["create", "create", "create-orphan"]);
  const token = choices.chance(0.5) ? callers[choices.below(callers.length)] : undefined;
  const body = someFields(choices, CREATE_FIELDS);
  if (choices.chance(0.3)) body.type = choices.pick(["batch", "service", "", "other"]);
  if (!("policies" in body) && choices.chance(0.7)) body.policies = ["dfa"];
  return round.post(`auth/token/${endpoint}`, body, { ...(token !== undefined && { token }) });
}

/** Sends a request about a token: by itself, or naming it or its accessor, as the endpoint says. */
async function about(round: Round, endpoint: string, target: string, body: object = {}): Promise<void> {
  const path = `auth/token/${endpoint}`;
  if (endpoint.endsWith("-self")) await round.post(path, body, { token: `{${target}}` });
  else if (endpoint.endsWith("-accessor")) await round.post(path, { ...body, accessor: `{${target}a}` });
  else await round.post(path, { ...body, token: `{${target}}` });
}
