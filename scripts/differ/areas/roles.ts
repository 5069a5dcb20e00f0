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
    await round.post(path, body);
    await round.get(path);
    const made = await round.post(`auth/token/create/${prefix}r`, someFields(choices, CREATE_FIELDS, 0.15));
    const name = `${prefix}role${i}`;
    if (!round.keepToken(name, made)) continue;
    await round.post("auth/token/lookup", { token: `{${name}}` });
    await round.post("auth/token/renew", { token: `{${name}}`, increment: "20m" }, { note: " of a role's" });
  }
  await round.delete(path);
  await round.get(path);
}
