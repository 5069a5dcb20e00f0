import { err, ok } from "../../base/result.ts";
import { exact } from "../../wire/exact-fields.ts";
import { isObject } from "../../wire/fields.ts";

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

/** The flags that a client gives. Others are ignored, as the hosted product has new ones now and then. */
export const GIVEN_ACCESS = exact({ "*": "boolean" }, (value) => {
  const flags: Record<string, boolean> = {};
  for (const name of Object.keys(ORGANIZATION_ACCESS)) {
    const flag = isObject(value) ? value[name] : null;
    if (flag === undefined) continue;
    if (typeof flag !== "boolean") return err("must be an object of flags");
    flags[name] = flag;
  }
  return ok(flags);
});
