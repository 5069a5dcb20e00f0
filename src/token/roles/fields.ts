import * as z from "zod";
import { commaList, duration, flag, integer, maybe, text } from "../../wire/fields.ts";

/**
 * The fields of a role as a client sends them. Each is undefined when it was not sent: a write changes what it names and
 * leaves the rest.
 */
export const ROLE_FIELDS = z.object({
  role_name: z.unknown().optional(),
  allowed_policies: maybe(commaList()),
  disallowed_policies: maybe(commaList()),
  allowed_policies_glob: maybe(commaList()),
  disallowed_policies_glob: maybe(commaList()),
  allowed_entity_aliases: maybe(commaList()),
  orphan: maybe(flag(false)),
  renewable: maybe(flag(true)),
  path_suffix: maybe(text()),
  token_bound_cidrs: maybe(commaList()),
  bound_cidrs: maybe(commaList()),
  token_explicit_max_ttl: maybe(duration()),
  explicit_max_ttl: maybe(duration()),
  token_period: maybe(duration()),
  period: maybe(duration()),
  token_num_uses: maybe(integer(0)),
  token_no_default_policy: maybe(flag(false)),
  token_type: maybe(text()),
});

/** A write of a role, read but not judged. Durations in seconds, possibly negative. */
export type RoleFields = Omit<z.infer<typeof ROLE_FIELDS>, "role_name">;
