import * as z from "zod";
import { commaList, flag, integer, sent, sentDuration, text } from "../../wire/fields.ts";

/**
 * The fields of a role as a client sends them. Each is undefined when it was not sent: a write changes what it names and
 * leaves the rest.
 */
export const ROLE_FIELDS = z.object({
  role_name: z.unknown().optional(),
  allowed_policies: sent(commaList()),
  disallowed_policies: sent(commaList()),
  allowed_policies_glob: sent(commaList()),
  disallowed_policies_glob: sent(commaList()),
  allowed_entity_aliases: sent(commaList()),
  orphan: sent(flag(false)),
  renewable: sent(flag(true)),
  path_suffix: sent(text()),
  token_bound_cidrs: sent(commaList()),
  bound_cidrs: sent(commaList()),
  token_explicit_max_ttl: sentDuration(),
  explicit_max_ttl: sentDuration(),
  token_period: sentDuration(),
  period: sentDuration(),
  token_num_uses: sent(integer()),
  token_no_default_policy: sent(flag(false)),
  token_type: sent(text()),
});

/** A write of a role, parsed but not validated. Durations in seconds, possibly negative. */
export type RoleFields = Omit<z.infer<typeof ROLE_FIELDS>, "role_name">;
