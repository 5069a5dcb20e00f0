import * as z from "zod";
import { policyAssignRefusal } from "../../policy/builtin.ts";
import { namesRoot, normalizePolicyNames, policyNameProblem } from "../../policy/name.ts";
import type { TeamSettings } from "../record.ts";
import { organizationNameProblem, teamNameProblem } from "./name.ts";
import { GIVEN_ACCESS } from "./organization-access.ts";
import { ORGANIZATION_SETTINGS } from "./organization-settings.ts";

const MAX_SSO_ID_LENGTH = 256;
const MAX_POLICIES = 64;
const MAX_EMAIL_LENGTH = 254;

const FLAG = z.boolean("must be true or false");

const ORGANIZATION_NAME = nameWith(organizationNameProblem);
const TEAM_NAME = nameWith(teamNameProblem);

const EMAIL = z
  .string("must be a string")
  .max(MAX_EMAIL_LENGTH, `is too long (at most ${MAX_EMAIL_LENGTH} characters)`)
  .regex(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address");

/** Names of policies, normalised. A team token is never root: a root token belongs to a person. */
const TOKEN_POLICIES = z
  .array(z.string("must be a list of strings"), "must be a list of strings")
  .max(MAX_POLICIES, `must not be more than ${MAX_POLICIES}`)
  .transform((names, context) => {
    const policies = normalizePolicyNames(names);
    const problem = namesRoot(names)
      ? "must not hold root"
      : (policyAssignRefusal(policies) ?? policies.map(policyNameProblem).find((found) => found !== null));
    if (!problem) return policies;
    context.addIssue({ code: "custom", message: `is refused: ${problem}` });
    return z.NEVER;
  });

const CHANGES = {
  visibility: z.enum(["secret", "organization"], "must be secret or organization").optional(),
  "sso-team-id": z
    .string("must be a string or null")
    .max(MAX_SSO_ID_LENGTH, `is too long (at most ${MAX_SSO_ID_LENGTH} characters)`)
    .nullable()
    .optional(),
  "allow-member-token-management": FLAG.optional(),
  "organization-access": GIVEN_ACCESS.optional(),
  "token-policies": TOKEN_POLICIES.optional(),
};

/** The attributes of a new team. Attributes that only the hosted product has are ignored, as its clients send many. */
export const NEW_TEAM = z.object({ ...CHANGES, name: TEAM_NAME });

/** The attributes of a change of a team. */
export const TEAM_CHANGE = z.object({ ...CHANGES, name: TEAM_NAME.optional() });

/** The attributes of a new organization. */
export const NEW_ORGANIZATION = z.object({ ...ORGANIZATION_SETTINGS, name: ORGANIZATION_NAME, email: EMAIL });

/** The attributes of a change of an organization. */
export const ORGANIZATION_CHANGE = z.object({
  ...ORGANIZATION_SETTINGS,
  name: z.unknown().optional(),
  email: EMAIL.optional(),
});

/** The settings that attributes name. */
export function settingsOf(attributes: z.infer<typeof TEAM_CHANGE>): Partial<TeamSettings> {
  const { name, visibility } = attributes;
  const ssoTeamId = attributes["sso-team-id"];
  const allowMemberTokenManagement = attributes["allow-member-token-management"];
  const organizationAccess = attributes["organization-access"];
  const tokenPolicies = attributes["token-policies"];
  return {
    ...(name !== undefined && { name }),
    ...(visibility !== undefined && { visibility }),
    ...(ssoTeamId !== undefined && { ssoTeamId }),
    ...(allowMemberTokenManagement !== undefined && { allowMemberTokenManagement }),
    ...(organizationAccess !== undefined && { organizationAccess }),
    ...(tokenPolicies !== undefined && { tokenPolicies }),
  };
}

/** A name that `problemOf` finds nothing wrong with. */
function nameWith(problemOf: (value: unknown) => string | null) {
  return z.unknown().transform((value, context) => {
    const problem = problemOf(value);
    if (problem === null) return value as string;
    context.addIssue({ code: "custom", message: problem });
    return z.NEVER;
  });
}
