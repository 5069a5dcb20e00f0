import * as z from "zod";

const MAX_SAML_ROLE_LENGTH = 256;
/** Minutes; ten years. */
const MAX_SESSION = 5_256_000;

/** A hundred years. */
export const MAX_TTL_MS = 3_153_600_000_000;

const FLAG = z.boolean("must be true or false").optional();
const MINUTES = z
  .int("must be a whole number of minutes, or null")
  .min(1, "must be at least 1")
  .max(MAX_SESSION, `must be at most ${MAX_SESSION}`)
  .nullable()
  .optional();

/**
 * The attributes that clients manage about an organization besides its name and contact. They are stored as they are named
 * in documents. `max-ttl-enabled` and `default-team-token-ttl-ms` rule the lifetimes of tokens. Those about sessions, workspaces and plans are kept for clients that manage them; nothing here depends on
 * them.
 */
export const ORGANIZATION_SETTINGS = {
  "aggregated-commit-status-enabled": FLAG,
  "allow-force-delete-workspaces": FLAG,
  "assessments-enforced": FLAG,
  "collaborator-auth-policy": z
    .enum(["password", "two_factor_mandatory"], "must be password or two_factor_mandatory")
    .optional(),
  "cost-estimation-enabled": FLAG,
  "default-team-token-ttl-ms": z
    .int("must be a whole number of milliseconds, or null")
    .min(1, "must be at least 1")
    .max(MAX_TTL_MS, `must be at most ${MAX_TTL_MS}`)
    .nullable()
    .optional(),
  "default-execution-mode": z.enum(["remote", "local"], "must be remote or local: there are no agents").optional(),
  "enforce-hyok": FLAG,
  "max-ttl-enabled": FLAG,
  "owners-team-saml-role-id": z
    .string("must be a string or null")
    .max(MAX_SAML_ROLE_LENGTH, `is too long (at most ${MAX_SAML_ROLE_LENGTH} characters)`)
    .nullable()
    .optional(),
  "registry-monorepo-support-enabled": FLAG,
  "send-passing-statuses-for-untriggered-speculative-plans": FLAG,
  "session-remember": MINUTES,
  "session-timeout": MINUTES,
  "speculative-plan-management-enabled": FLAG,
  "stacks-enabled": FLAG,
  "user-tokens-enabled": z
    .literal(true, "must be true: it is the policies that say which tokens reach an organization")
    .optional(),
};

const SETTINGS = z.object(ORGANIZATION_SETTINGS);

/** Settings of an organization that were given a value. */
export type OrganizationSettings = z.infer<typeof SETTINGS>;

/** What a setting is until it is given a value: the defaults of HCP Terraform. */
const DEFAULTS: Required<OrganizationSettings> = {
  "aggregated-commit-status-enabled": true,
  "allow-force-delete-workspaces": false,
  "assessments-enforced": false,
  "collaborator-auth-policy": "password",
  "cost-estimation-enabled": true,
  "default-execution-mode": "remote",
  "default-team-token-ttl-ms": null,
  "enforce-hyok": false,
  "max-ttl-enabled": false,
  "owners-team-saml-role-id": null,
  "registry-monorepo-support-enabled": false,
  "send-passing-statuses-for-untriggered-speculative-plans": false,
  "session-remember": null,
  "session-timeout": null,
  "speculative-plan-management-enabled": true,
  "stacks-enabled": false,
  "user-tokens-enabled": true,
};

/** Every setting of an organization: the given value, or the default. */
export function allSettings(given: OrganizationSettings | undefined): Required<OrganizationSettings> {
  return { ...DEFAULTS, ...given };
}
