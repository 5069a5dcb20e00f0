import type { Field, FieldGroup } from "../records/field.ts";
import type { RefusedLogins } from "../records/part.ts";

/** The part for refused logins, which every method with logins has. */
export const REFUSED_LOGINS: RefusedLogins = {
  kind: "refused logins",
  part: "refused-logins",
  title: "Refused logins",
  path: "explain/refused",
};

/** What the checks of a login have in common. */
export const LOGIN_CHECK = {
  kind: "login check",
  part: "login-check",
  title: "Login check",
  path: "explain/login",
} as const;

const TOKEN_TYPES = ["default", "service", "batch", "default-service", "default-batch"];

/** Has an effect on Cloudflare's network only. */
export const LOCATION: Field = {
  name: "location_hint",
  label: "Stored near",
  kind: "text",
  hint: "A location hint of Cloudflare, like weur. Empty: near the client.",
};

/** Settings of the tokens of logins by a role. */
export const TOKENS: FieldGroup = {
  title: "Tokens that it gives",
  fields: [
    { name: "token_policies", label: "Policies", kind: "names" },
    { name: "token_ttl", label: "Time to live", kind: "duration" },
    { name: "token_max_ttl", label: "At most, with renewals", kind: "duration" },
    { name: "token_explicit_max_ttl", label: "Longest life, renewals included", kind: "duration" },
    { name: "token_period", label: "Period", kind: "duration", hint: "Set: the token lives as long as it is renewed." },
    { name: "token_num_uses", label: "Uses", kind: "number", hint: "None: no limit." },
    { name: "token_type", label: "Type", kind: "choice", choices: TOKEN_TYPES },
    { name: "token_bound_cidrs", label: "Networks", kind: "names", hint: "They may log in and use the token." },
    { name: "token_strictly_bind_ip", label: "Good only from the address that logged in", kind: "flag" },
    { name: "token_no_default_policy", label: "Without the policy default", kind: "flag" },
  ],
};

/** Fields of roles for which the Terraform provider, which is Vault's, has no argument. */
export const OPEN_BAO_ONLY = ["token_strictly_bind_ip"];

/** Consequences of the deletion of a role. */
export const ROLE_LOSS =
  "No login by it succeeds any more. Tokens that it gave stay until they end; they can be revoked from the list of tokens.";
