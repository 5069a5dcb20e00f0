import { readRoute } from "../../../auth/record-routes.ts";
import { type Route, simpleRoute, withCanonicalPath, withParameters } from "../../../auth/route.ts";
import {
  DONE_OR_WARNED,
  dataAnswer,
  ENVELOPE,
  injectedAnswer,
  KEYS,
  NO_CONTENT,
} from "../../../auth/route-description.ts";
import { ok } from "../../../base/result.ts";
import { normalizePolicyName } from "../../../policy/name.ts";
import { fieldSchema } from "../../../wire/fields.ts";
import { PAGE } from "../../../wire/page.ts";
import { dataReply, injectedReply } from "../../../wire/reply.ts";
import {
  listDetailedPolicies,
  listPoliciesBelow,
  listPolicyNames,
  POLICY_VIEW,
  readPolicy,
  readPolicyUsage,
  USAGE_SHAPE,
} from "./read.ts";
import {
  DELETE_FIELDS,
  deletePolicy,
  OLD_WRITE_FIELDS,
  PATCH_FIELDS,
  patchPolicy,
  WRITE_FIELDS,
  withWarning,
  writePolicy,
} from "./write.ts";

const NAMES = fieldSchema(PAGE);

const PARAMETERS = { name: "The name of the policy", prefix: "What comes before the last slash of the names" };
const DETAILED = dataAnswer({ keys: ["string"], key_info: { "*": { ...POLICY_VIEW.shape, policy: "string" } } });

/** Policies, at the places where clients look for them. */
export const POLICY_ROUTES: readonly Route[] = withParameters(
  PARAMETERS,
  withCanonicalPath(canonicalPolicyPath, [
    simpleRoute(["read", "list"], "sys/policy", {
      summary: "Lists the policies.",
      operationId: { read: "policies-list", list: "policies-list-with-list" },
      answers: injectedAnswer({ keys: ["string"], policies: ["string"] }),
      input: NAMES,
      handle: async ({ env, fields }) => {
        const keys = await listPolicyNames(env, "", fields);
        return ok(injectedReply({ keys, policies: keys }));
      },
    }),
    readRoute("sys/policy/:name{.+}", {
      summary: "Shows a policy.",
      operationId: "policies-read-acl-policy2",
      answers: injectedAnswer({ ...POLICY_VIEW.shape, rules: "string" }),
      handle: (context) => readPolicy(context, "rules"),
    }),
    simpleRoute("update", "sys/policy/:name{.+}", {
      summary: "Makes or replaces a policy.",
      operationId: "policies-write-acl-policy2",
      answers: DONE_OR_WARNED,
      input: OLD_WRITE_FIELDS,
      handle: async (context) => {
        const { policy, rules } = context.fields;
        const written = await writePolicy(context, policy || rules);
        if (!written.ok || rules === "") return written;
        return ok(withWarning(written.value, "'rules' is deprecated, please use 'policy' instead"));
      },
    }),
    ...routesOfBothPlaces("sys/policy", { listBelow: "policies-list-below2", delete: "policies-delete-acl-policy2" }),

    simpleRoute("list", "sys/policies/acl", {
      summary: "Lists the policies.",
      operationId: "policies-list-acl-policies",
      answers: KEYS,
      input: NAMES,
      handle: async ({ env, fields }) => ok(dataReply({ keys: await listPolicyNames(env, "", fields) })),
    }),
    readRoute("sys/policies/acl/:name{.+}", {
      summary: "Shows a policy.",
      operationId: "policies-read-acl-policy",
      answers: dataAnswer({ ...POLICY_VIEW.shape, policy: "string" }),
      handle: (context) => readPolicy(context, "policy"),
    }),
    simpleRoute("update", "sys/policies/acl/:name{.+}", {
      summary: "Makes or replaces a policy.",
      operationId: "policies-write-acl-policy",
      answers: DONE_OR_WARNED,
      input: WRITE_FIELDS,
      handle: (context) => writePolicy(context, context.fields.policy),
    }),
    simpleRoute("patch", "sys/policies/acl/:name{.+}", {
      summary: "Changes what a policy names; the rest stays.",
      operationId: "policies-patch-acl-policy",
      answers: ENVELOPE,
      input: PATCH_FIELDS,
      handle: patchPolicy,
    }),
    ...routesOfBothPlaces("sys/policies/acl", {
      listBelow: "policies-list-below",
      delete: "policies-delete-acl-policy",
    }),

    simpleRoute("list", "sys/policies/detailed/acl", {
      summary: "Lists the policies with what they say.",
      operationId: "system-list-policies-detailed-acl",
      answers: DETAILED,
      input: NAMES,
      handle: listDetailedPolicies,
    }),
    simpleRoute("list", "sys/policies/detailed/acl/:name{.+}", {
      summary: "Lists the policies below a name with slashes, with what they say.",
      operationId: "system-list-policies-detailed-acl-name",
      parameters: { name: PARAMETERS.prefix },
      answers: DETAILED,
      input: NAMES,
      handle: listDetailedPolicies,
    }),

    readRoute("sys/policies/usage/acl/:name{.+}", {
      summary: "Shows how many tokens have a policy, and which roles, entities, groups and teams give it.",
      operationId: "policies-read-acl-usage",
      answers: dataAnswer(USAGE_SHAPE),
      handle: readPolicyUsage,
    }),
  ]),
);

/** The routes that are the same at the older place of policies and at the newer one. `ids` are their operation ids. */
function routesOfBothPlaces(path: string, ids: { readonly listBelow: string; readonly delete: string }): Route[] {
  return [
    simpleRoute("list", `${path}/:prefix{.+}`, {
      summary: "Lists the policies below a name with slashes.",
      operationId: ids.listBelow,
      answers: KEYS,
      input: NAMES,
      handle: listPoliciesBelow,
    }),
    simpleRoute("delete", `${path}/:name{.+}`, {
      summary: "Deletes a policy.",
      operationId: ids.delete,
      answers: NO_CONTENT,
      input: DELETE_FIELDS,
      handle: deletePolicy,
    }),
  ];
}

/** The path with the name of the policy as it is stored. */
function canonicalPolicyPath(path: string): string {
  return path.replace(/(?<=^sys\/(?:policy|policies\/(?:detailed\/|usage\/)?acl)\/).*$/s, normalizePolicyName);
}
