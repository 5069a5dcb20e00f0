import {
  deprecated,
  fieldSchema,
  flag,
  integer,
  list,
  sent,
  sentDuration,
  text,
  unread,
  type Values,
} from "../../wire/fields.ts";

/**
 * The fields of a role as a client sends them. Each is undefined when it was not sent: a write changes what it names
 * and leaves the rest.
 */
export const ROLE_FIELDS = fieldSchema({
  role_name: unread("string").describe("The name of the role"),
  allowed_policies: sent(list()).describe("Policies that tokens may have"),
  disallowed_policies: sent(list()).describe("Policies that tokens may not have"),
  allowed_policies_glob: sent(list()).describe("The same with `*` in the names"),
  disallowed_policies_glob: sent(list()).describe("The same with `*` in the names"),
  allowed_entity_aliases: sent(list()).describe("Aliases that tokens may be made for; `*` may stand at the ends"),
  orphan: sent(flag(false)).describe("True: tokens have no parent"),
  renewable: sent(flag(true)).describe("False: tokens can't be renewed"),
  path_suffix: sent(text()).describe("Ends the path under which tokens are listed"),
  token_bound_cidrs: sent(list()).describe("Networks that tokens may be used from"),
  bound_cidrs: deprecated(sent(list())).describe("Older name of `token_bound_cidrs`"),
  token_explicit_max_ttl: sentDuration().describe("How long tokens live at most"),
  explicit_max_ttl: deprecated(sentDuration()).describe("Older name of `token_explicit_max_ttl`"),
  token_period: sentDuration().describe("Makes tokens periodic"),
  period: deprecated(sentDuration()).describe("Older name of `token_period`"),
  token_num_uses: sent(integer()).describe("Requests that a token is good for; 0 for any number"),
  token_no_default_policy: sent(flag(false)).describe("True: without the policy `default`"),
  token_type: sent(text()).describe("`service`, `batch`, `default-service` or `default-batch`"),
  location_hint: sent(text()).describe(
    "Where orphans are stored: a location hint of Cloudflare's; empty for near their maker",
  ),
});

/** A write of a role, parsed but not validated. Durations in seconds, possibly negative. */
export type RoleFields = Omit<Values<typeof ROLE_FIELDS>, "role_name">;
