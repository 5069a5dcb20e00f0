import * as z from "zod";

/** What a team may be allowed in its organization at HCP Terraform. Kept for clients; nothing here depends on it. */
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

const FLAG = z.boolean("must be an object of flags").optional();
const FLAGS = Object.fromEntries(Object.keys(ORGANIZATION_ACCESS).map((name) => [name, FLAG]));

/** The flags that a client gives. Others are ignored, as the hosted product has new ones now and then. */
export const GIVEN_ACCESS = z
  .object(FLAGS, "must be an object of flags")
  .transform((flags): Readonly<Record<string, boolean>> => flags as Record<string, boolean>);
