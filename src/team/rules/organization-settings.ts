import type { Ms } from "../../base/clock.ts";
import { err, ok } from "../../base/result.ts";
import { fieldSchema, type Values } from "../../wire/field-schema.ts";
import { type Field, sent, unread } from "../../wire/fields.ts";
import {
  exact,
  exactFlag,
  exactInteger,
  exactString,
  oneOf,
  orNull,
  shortString,
} from "../../wire/json-type-fields.ts";
import { organizationNameProblem } from "./names.ts";

const MAX_SAML_ROLE_LENGTH = 256;
/** Minutes; ten years. */
const MAX_SESSION = 5_256_000;

/** A hundred years. */
export const MAX_TTL_MS: Ms = 3_153_600_000_000;

const stored = <T>(field: Field<T>) => sent(field).describe("Stored and shown");
const FLAG = stored(exactFlag());
const MINUTES = stored(orNull(exactInteger("must be a whole number of minutes, or null", 1, MAX_SESSION)));

/**
 * The settings of an organization, under their names in documents. `max-ttl-enabled`, `default-team-token-ttl-ms` and
 * `end-tokens-after-24-months` apply to the lifetimes of tokens. The others are stored for clients and have no effect here.
 */
export const ORGANIZATION_SETTINGS = {
  "aggregated-commit-status-enabled": FLAG,
  "allow-force-delete-workspaces": FLAG,
  "assessments-enforced": FLAG,
  "collaborator-auth-policy": stored(
    oneOf(["password", "two_factor_mandatory"], "must be password or two_factor_mandatory"),
  ),
  "cost-estimation-enabled": FLAG,
  "default-team-token-ttl-ms": sent(
    orNull(exactInteger("must be a whole number of milliseconds, or null", 1, MAX_TTL_MS)),
  ).describe("Lifetime of tokens without an end"),
  "default-execution-mode": stored(oneOf(["remote", "local"], "must be remote or local: there are no agents")),
  "end-tokens-after-24-months": sent(exactFlag()).describe(
    "True: tokens without an end end after 24 months; not those of audit trails",
  ),
  "enforce-hyok": FLAG,
  "max-ttl-enabled": FLAG.describe("True: the token TTL policies count"),
  "owners-team-saml-role-id": stored(orNull(shortString("must be a string or null", MAX_SAML_ROLE_LENGTH))),
  "registry-monorepo-support-enabled": FLAG,
  "send-passing-statuses-for-untriggered-speculative-plans": FLAG,
  "session-remember": MINUTES,
  "session-timeout": MINUTES,
  "speculative-plan-management-enabled": FLAG,
  "stacks-enabled": FLAG,
  "user-tokens-enabled": sent(
    exact("boolean", (value) =>
      value === true ? ok(value) : err("must be true: it is the policies that say which tokens reach an organization"),
    ),
  ).describe("True, the only value"),
};

const MAX_EMAIL_LENGTH = 254;

const EMAIL = exactString("must be a string", (text) => {
  if (text.length > MAX_EMAIL_LENGTH) return `is too long (at most ${MAX_EMAIL_LENGTH} characters)`;
  return /^[^\s@]+@[^\s@]+$/.test(text) ? null : "must be an e-mail address";
}).describe("The e-mail address of its administrator");

/** The attributes of a new organization. */
export const NEW_ORGANIZATION = fieldSchema({
  name: exactString("can't be blank", organizationNameProblem).describe("The name; it can't be changed"),
  email: EMAIL,
  ...ORGANIZATION_SETTINGS,
});

/** The attributes of a change of an organization. */
export const ORGANIZATION_CHANGE = fieldSchema({
  name: unread("string").describe("The name; it can't be changed"),
  email: sent(EMAIL),
  ...ORGANIZATION_SETTINGS,
});

const SETTINGS = fieldSchema(ORGANIZATION_SETTINGS);
type SentSettings = Values<typeof SETTINGS>;

/** Settings of an organization that were set. */
export type OrganizationSettings = Partial<SentSettings>;

type AllSettings = { readonly [Name in keyof SentSettings]: Exclude<SentSettings[Name], undefined> };

/** The defaults of HCP Terraform. */
const DEFAULTS: AllSettings = {
  "aggregated-commit-status-enabled": true,
  "allow-force-delete-workspaces": false,
  "assessments-enforced": false,
  "collaborator-auth-policy": "password",
  "cost-estimation-enabled": true,
  "default-execution-mode": "remote",
  "default-team-token-ttl-ms": null,
  "end-tokens-after-24-months": false,
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

/** All settings of an organization: the stored value, or the default. */
export function allSettings(given: OrganizationSettings | undefined): AllSettings {
  return Object.assign({ ...DEFAULTS }, given);
}
