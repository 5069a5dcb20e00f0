import type { Round } from "../round.ts";
import { type Kind, someFields } from "../values.ts";
import { CREATE_FIELDS } from "./tokens.ts";

const FIELDS: Readonly<Record<string, Kind>> = {
  allowed_policies: "policies",
  disallowed_policies: "policies",
  allowed_policies_glob: "list",
  disallowed_policies_glob: "list",
  allowed_entity_aliases: "list",
  orphan: "bool",
  renewable: "bool",
  path_suffix: "text",
  token_bound_cidrs: "cidrs",
  bound_cidrs: "cidrs",
  token_explicit_max_ttl: "duration",
  explicit_max_ttl: "duration",
  token_period: "duration",
  period: "duration",
  token_num_uses: "int",
  token_no_default_policy: "bool",
};
const TYPES = ["service", "batch", "default-service", "default-batch", "", "other"] as const;

/** Roles of tokens: written in several steps, read, used and deleted. */
export async function roles(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const path = `auth/token/roles/${prefix}r`;
  for (let i = 0; i < 3; i++) {
    const body = someFields(choices, FIELDS, 0.3);
    if (choices.chance(0.3)) body.token_type = choices.pick(TYPES);
    if (body.token_type === "batch" && choices.chance(0.7)) Object.assign(body, { orphan: true, renewable: false });
    await round.ask("POST auth/token/roles", { method: "POST", path, body });
    await round.ask("GET auth/token/roles", { method: "GET", path });
    const fields = someFields(choices, CREATE_FIELDS, 0.15);
    const use = { method: "POST", path: `auth/token/create/${prefix}r`, body: fields } as const;
    const answers = await round.ask("POST auth/token/create/:role", use);
    const name = `${prefix}rt${i}`;
    if (round.keep(name, answers, "auth", "client_token")) {
      const lookup = { method: "POST", path: "auth/token/lookup", body: { token: `{${name}}` } } as const;
      await round.ask("POST auth/token/lookup of a role's", lookup);
      const renew = {
        method: "POST",
        path: "auth/token/renew",
        body: { token: `{${name}}`, increment: "20m" },
      } as const;
      await round.ask("POST auth/token/renew of a role's", renew);
    }
  }
  await round.ask("DELETE auth/token/roles", { method: "DELETE", path });
  await round.ask("GET auth/token/roles", { method: "GET", path });
}
