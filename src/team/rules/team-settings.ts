import { err, ok } from "../../base/result.ts";
import { namesRoot, normalizePolicyNames, policyAssignRefusal, policyNameProblem } from "../../policy/policy-names.ts";
import { fieldSchema, type Values } from "../../wire/field-schema.ts";
import { isObject, onlySent, sent } from "../../wire/fields.ts";
import { exact, exactFlag, exactString, oneOf, orNull, shortString } from "../../wire/json-type-fields.ts";
import type { TeamSettings } from "../record.ts";
import { teamNameProblem } from "./names.ts";

/**
 * Permissions of a team in its organization at HCP Terraform, with the defaults. Stored for clients; no effect here.
 */
export const ORGANIZATION_ACCESS = {
  "access-secret-teams": false,
  "delegate-policy-overrides": false,
  "manage-agent-pools": false,
  "manage-membership": false,
  "manage-modules": false,
  "manage-organization-access": false,
  "manage-policies": false,
  "manage-policy-overrides": false,
  "manage-projects": false,
  "manage-providers": false,
  "manage-public-modules": false,
  "manage-public-providers": false,
  "manage-run-tasks": false,
  "manage-teams": false,
  "manage-vcs-settings": false,
  "manage-workspaces": false,
  "read-projects": false,
  "read-workspaces": false,
};

/** The flags in a request. Unknown flags are ignored, because the hosted product adds new ones. */
const GIVEN_ACCESS = exact({ "*": "boolean" }, (value) => {
  if (!isObject(value)) return err("must be an object of flags");
  const flags: Record<string, boolean> = {};
  for (const name of Object.keys(ORGANIZATION_ACCESS)) {
    const flag = value[name] ?? undefined;
    if (flag === undefined) continue;
    if (typeof flag !== "boolean") return err("must be an object of flags");
    flags[name] = flag;
  }
  return ok(flags);
});

export const DEFAULT_SETTINGS: Omit<TeamSettings, "name"> = {
  visibility: "secret",
  ssoTeamId: null,
  allowMemberTokenManagement: true,
  organizationAccess: {},
  tokenPolicies: [],
};

const MAX_SSO_ID_LENGTH = 256;
const MAX_POLICIES = 64;
const TEAM_NAME = exactString("can't be blank", teamNameProblem).describe("The name");

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
