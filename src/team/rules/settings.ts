import { err, ok } from "../../base/result.ts";
import { policyAssignRefusal } from "../../policy/builtin.ts";
import { namesRoot, normalizePolicyNames, policyNameProblem } from "../../policy/name.ts";
import { exact, exactFlag, exactString, oneOf, orNull, shortString } from "../../wire/exact-fields.ts";
import { fieldSchema, onlySent, sent, unread, type Values } from "../../wire/fields.ts";
import type { TeamSettings } from "../record.ts";
import { organizationNameProblem, teamNameProblem } from "./name.ts";
import { GIVEN_ACCESS } from "./organization-access.ts";
import { ORGANIZATION_SETTINGS } from "./organization-settings.ts";

const MAX_SSO_ID_LENGTH = 256;
const MAX_POLICIES = 64;
const MAX_EMAIL_LENGTH = 254;

const ORGANIZATION_NAME = exactString("can't be blank", organizationNameProblem);
const TEAM_NAME = exactString("can't be blank", teamNameProblem).describe("The name");

const EMAIL = exactString("must be a string", (text) => {
  if (text.length > MAX_EMAIL_LENGTH) return `is too long (at most ${MAX_EMAIL_LENGTH} characters)`;
  return /^[^\s@]+@[^\s@]+$/.test(text) ? null : "must be an e-mail address";
}).describe("The e-mail address of its administrator");

/** Names of policies, normalised. A team token can't have `root`: a root token belongs to a person. */
const TOKEN_POLICIES = exact(["string"], (value) => {
  const isText = (item: unknown): item is string => typeof item === "string";
  if (!Array.isArray(value) || !value.every(isText)) return err("must be a list of strings");
  if (value.length > MAX_POLICIES) return err(`must not be more than ${MAX_POLICIES}`);
  const policies = normalizePolicyNames(value);
  const problem = namesRoot(value)
    ? "must not hold root"
    : (policyAssignRefusal(policies) ?? policies.map(policyNameProblem).find((found) => found !== null));
  return problem ? err(`is refused: ${problem}`) : ok(policies);
});

const CHANGES = {
  visibility: sent(oneOf(["secret", "organization"], "must be secret or organization")).describe(
    "`secret` or `organization`",
  ),
  "sso-team-id": sent(orNull(shortString("must be a string or null", MAX_SSO_ID_LENGTH))).describe(
    "Id of the team at the identity provider",
  ),
  "allow-member-token-management": sent(exactFlag()).describe("Stored and shown"),
  "organization-access": sent(GIVEN_ACCESS).describe("Flags by name; stored and shown"),
  "token-policies": sent(TOKEN_POLICIES).describe("Policies of the tokens of the team; needs sudo"),
};

/** The attributes of a new team. Other attributes are ignored: clients send many that only the hosted product has. */
export const NEW_TEAM = fieldSchema({ name: TEAM_NAME, ...CHANGES });

/** The attributes of a change of a team. */
export const TEAM_CHANGE = fieldSchema({ name: sent(TEAM_NAME), ...CHANGES });

/** The attributes of a new organization. */
export const NEW_ORGANIZATION = fieldSchema({
  name: ORGANIZATION_NAME.describe("The name; it can't be changed"),
  email: EMAIL,
  ...ORGANIZATION_SETTINGS,
});

/** The attributes of a change of an organization. */
export const ORGANIZATION_CHANGE = fieldSchema({
  name: unread("string").describe("The name; it can't be changed"),
  email: sent(EMAIL),
  ...ORGANIZATION_SETTINGS,
});

/** The settings in the attributes. */
export function settingsOf(attributes: Values<typeof TEAM_CHANGE>): Partial<TeamSettings> {
  return onlySent({
    name: attributes.name,
    visibility: attributes.visibility,
    ssoTeamId: attributes["sso-team-id"],
    allowMemberTokenManagement: attributes["allow-member-token-management"],
    organizationAccess: attributes["organization-access"],
    tokenPolicies: attributes["token-policies"],
  });
}
