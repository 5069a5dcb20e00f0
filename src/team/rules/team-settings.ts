import type { Ms } from "../../base/clock.ts";
import { err, invalidDocument, ok } from "../../base/result.ts";
import type { AccessRequest } from "../../policy/acl.ts";
import { namesRoot, normalizePolicyNames, policyAssignRefusal, policyNameProblem } from "../../policy/policy-names.ts";
import { fieldSchema, type Values } from "../../wire/field-schema.ts";
import { isObject, onlySent, sent, unread } from "../../wire/fields.ts";
import { exact, exactFlag, exactString, oneOf, orNull, shortString } from "../../wire/json-type-fields.ts";
import type { OrganizationRecord, TeamRecord, TeamSettings } from "../record.ts";
import { ORGANIZATION_SETTINGS } from "./organization-settings.ts";

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

/** Name of the team that every organization has. */
export const OWNERS = "owners";

/** The owners team of a new organization: with all access to it, and no policies. */
export function ownersOf(organization: OrganizationRecord, teamId: string, now: Ms): TeamRecord {
  return {
    ...DEFAULT_SETTINGS,
    name: OWNERS,
    owners: true,
    visibility: "organization",
    organizationAccess: Object.fromEntries(Object.keys(ORGANIZATION_ACCESS).map((name) => [name, true])),
    teamId,
    organization: organization.name,
    organizationId: organization.organizationId,
    createdAt: now,
  };
}

/** True for the owners team and a request about its organization or a resource in it. */
export function manages(team: TeamRecord, { path, alternatePath }: AccessRequest): boolean {
  const own = `organizations/${team.organization}`;
  const asked = alternatePath ?? path;
  return team.owners === true && (asked === own || asked.startsWith(`${own}/`));
}

/** Maximum length of the name of a team or an organization. */
export const MAX_NAME_LENGTH = 90;

const MAX_DESCRIPTION_LENGTH = 255;
const MAX_SSO_ID_LENGTH = 256;
const MAX_POLICIES = 64;
/** Maximum number of tokens of a team. */
export const MAX_TEAM_TOKENS = 1000;
const MAX_EMAIL_LENGTH = 254;

/** The refusal of the name of another team or organization. */
export const NAME_TAKEN = invalidDocument("Name has already been taken", "/data/attributes/name");

/** No comma, which separates names in the queries of lists. No blanks at the ends, which are easily lost. */
const TEAM_NAME_PATTERN = /^[A-Za-z0-9_.:@/-](?:[A-Za-z0-9_.:@/ -]*[A-Za-z0-9_.:@/-])?$/;

/**
 * The problem with the name of an organization as a phrase, or null. The name is a part of paths in policies, so it has
 * no character with two spellings in a path.
 */
export function organizationNameProblem(value: unknown): string | null {
  return nameProblem(value, /^[A-Za-z0-9_-]+$/, "may only hold letters, digits, - and _");
}

/** The problem with the name of a team as a phrase, or null. Paths have the ids of teams and not their names. */
export function teamNameProblem(value: unknown): string | null {
  return nameProblem(value, TEAM_NAME_PATTERN, "may only hold letters, digits, - _ . : @ / and blanks between them");
}

function nameProblem(value: unknown, pattern: RegExp, rule: string): string | null {
  if (typeof value !== "string" || value === "") return "can't be blank";
  if (value.length > MAX_NAME_LENGTH) return `is too long (at most ${MAX_NAME_LENGTH} characters)`;
  return pattern.test(value) ? null : rule;
}

/** The problem with the description of a token as a phrase, or null. It may be empty. */
export function descriptionProblem(text: string): string | null {
  if (text.length > MAX_DESCRIPTION_LENGTH) return `is too long (at most ${MAX_DESCRIPTION_LENGTH} characters)`;
  return /\p{Cc}|\p{Cs}/u.test(text) ? "must not hold control characters" : null;
}

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
