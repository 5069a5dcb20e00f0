import type { Round } from "../round.ts";
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

/** Tokens of callers of several ranks: made, looked up, renewed, used and revoked. */
export async function tokens(round: Round): Promise<void> {
  const { choices } = round;
  const callers: string[] = [];
  for (const [rank, policies] of [
    ["sudo", ["dfsudo"]],
    ["plain", ["dfa", "dfcreate"]],
  ] as const) {
    const name = `${round.prefix}${rank}`;
    if (round.keep(name, await round.ask("POST auth/token/create", create({ policies, ttl: "1h" })), ...CLIENT_TOKEN)) {
      callers.push(`{${name}}`);
    }
  }
  const made: string[] = [];
  for (let i = 0; i < 14; i++) {
    const target = made.length > 0 ? choices.pick(made as [string, ...string[]]) : "none";
    switch (choices.below(7)) {
      case 0:
      case 1: {
        const endpoint = choices.pick(["create", "create", "create-orphan"]);
        const caller = choices.chance(0.5) && callers.length > 0 ? choices.pick(callers as [string]) : undefined;
        const body = someFields(choices, CREATE_FIELDS);
        if (choices.chance(0.3)) body.type = choices.pick(["batch", "service", "", "other"]);
        if (!("policies" in body) && choices.chance(0.7)) body.policies = ["dfa"];
        const answers = await round.ask(`POST auth/token/${endpoint}`, {
          ...create(body, endpoint),
          ...(caller !== undefined && { token: caller }),
        });
        const name = `${round.prefix}t${i}`;
        if (round.keep(name, answers, ...CLIENT_TOKEN)) made.push(name);
        round.keep(`${name}a`, answers, "auth", "accessor");
        break;
      }
      case 2:
        await round.ask("POST auth/token/lookup", {
          method: "POST",
          path: "auth/token/lookup",
          body: { token: `{${target}}` },
        });
        break;
      case 3:
        await round.ask("GET auth/token/lookup-self", {
          method: "GET",
          path: "auth/token/lookup-self",
          token: `{${target}}`,
        });
        break;
      case 4: {
        const path = choices.pick(["renew", "renew-self", "renew-accessor"]);
        const body = choices.chance(0.6) ? { increment: valueFor(choices, "duration") } : {};
        await round.ask(`POST auth/token/${path}`, aboutToken(path, target, body));
        break;
      }
      case 5: {
        const path = choices.pick(["revoke", "revoke-self", "revoke-accessor", "revoke-orphan"]);
        await round.ask(`POST auth/token/${path}`, aboutToken(path, target, {}));
        break;
      }
      default:
        await round.ask("POST auth/token/lookup-accessor", aboutToken("lookup-accessor", target, {}));
    }
  }
}

const CLIENT_TOKEN = ["auth", "client_token"];

function create(body: unknown, endpoint = "create") {
  return { method: "POST", path: `auth/token/${endpoint}`, body } as const;
}

function aboutToken(path: string, target: string, body: Readonly<Record<string, unknown>>) {
  if (path.endsWith("-self"))
    return { method: "POST", path: `auth/token/${path}`, body, token: `{${target}}` } as const;
  const named = path.endsWith("-accessor") ? { accessor: `{${target}a}` } : { token: `{${target}}` };
  return { method: "POST", path: `auth/token/${path}`, body: { ...body, ...named } } as const;
}
