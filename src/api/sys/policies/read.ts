import { readRoute } from "../../../auth/record-routes.ts";
import { type Answered, type CallContext, type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer, injectedAnswer, KEYS } from "../../../auth/route-description.ts";
import { currentTime, formatRfc3339, formatTime } from "../../../base/clock.ts";
import { inGroups } from "../../../base/parallel.ts";
import { NOT_FOUND, ok } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { entitiesGiving } from "../../../identity/entities.ts";
import { loadGroups } from "../../../identity/groups.ts";
import { countOfPolicy } from "../../../listing/inventory/queries.ts";
import { publishRecent } from "../../../listing/updates/recent.ts";
import { isHiddenPolicy, RESPONSE_WRAPPING_POLICY, RESPONSE_WRAPPING_POLICY_TEXT } from "../../../policy/builtin.ts";
import { holdersOf, joinedHolders, type PolicyHolders } from "../../../policy/holders.ts";
import { normalizePolicyName, ROOT_POLICY } from "../../../policy/name.ts";
import type { StoredPolicy } from "../../../system/policy-store.ts";
import { systemOf } from "../../../system/system.ts";
import { organizationDirectory, organizationNamed } from "../../../team/find.ts";
import { tokenRoles } from "../../../token/roles/token-roles.ts";
import { fieldSchema } from "../../../wire/fields.ts";
import { PAGE, type Page, pageOf } from "../../../wire/page.ts";
import { dataReply, injectedReply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";

/** Policies with their texts that one call to the object brings. */
const DETAILED_CHUNK = 64;

/** The policies that no operator has written, by name. */
const FIXED: ReadonlyMap<string, StoredPolicy> = new Map(
  [
    { name: ROOT_POLICY, text: "" },
    { name: RESPONSE_WRAPPING_POLICY, text: RESPONSE_WRAPPING_POLICY_TEXT },
  ].map((policy) => {
    const settings = { expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false };
    return [policy.name, { ...policy, ...settings, version: 0, modifiedAt: 0 }];
  }),
);

/** A policy, without its text. */
const POLICY_VIEW = view<StoredPolicy>({
  name: ["string", (policy) => policy.name],
  version: ["integer", (policy) => policy.version],
  cas_required: ["boolean", (policy) => policy.casRequired],
  allow_slashes_in_identity_templates: ["boolean", (policy) => policy.allowSlashes],
  allow_wildcards_in_identity_templates: ["boolean", (policy) => policy.allowWildcards],
  modified: ["string", (policy) => formatRfc3339(policy.modifiedAt)],
  "expiration?": ["string", (policy) => formatTime(policy.expiresAt) ?? undefined],
});

/** A page of the names that begin with `prefix`, sorted. Where all are listed `root` stands at the end, whatever the others are. */
async function listPolicyNames(env: Env, prefix: string, page: Page): Promise<string[]> {
  const all = prefix === "";
  if (all && page.after === ROOT_POLICY) return [];
  const stored = await systemOf(env).listPolicies(currentTime());
  const names = pageOf(
    stored.filter((name) => !isHiddenPolicy(name) && name.startsWith(prefix)),
    page,
  );
  const isLast = page.limit <= 0 || names.length < page.limit;
  return all && isLast ? [...names, ROOT_POLICY] : names;
}

/** The names that begin with the prefix in the path. */
async function listPoliciesBelow({ env, params, fields }: CallContext<Page>): Answered {
  const keys = await listPolicyNames(env, `${normalizePolicyName(params.prefix ?? "")}/`, fields);
  return ok(dataReply({ keys }));
}

/** A page of names, all or those that begin with the prefix in the path, and each policy with its text. */
async function listDetailedPolicies({ env, params, fields }: CallContext<Page>): Answered {
  const prefix = params.name === undefined ? "" : `${normalizePolicyName(params.name)}/`;
  const keys = await listPolicyNames(env, prefix, fields);
  const now = currentTime();
  const info: [string, Record<string, unknown>][] = [];
  for (let from = 0; from < keys.length; from += DETAILED_CHUNK) {
    const chunk = keys.slice(from, from + DETAILED_CHUNK);
    const fixed = chunk.flatMap((name) => FIXED.get(name) ?? []);
    const stored = await systemOf(env).readPolicies(chunk, now);
    for (const policy of [...stored, ...fixed]) info.push([policy.name, policyObject(policy, "policy")]);
  }
  return ok(dataReply({ keys, key_info: Object.fromEntries(info) }));
}

/** Shows a policy. `textKey` is the name of its text: `sys/policy/` is older and says `rules`. */
async function readPolicy({ env, params }: CallContext, textKey: "rules" | "policy"): Answered {
  const name = normalizePolicyName(params.name ?? "");
  const policy = FIXED.get(name) ?? (await systemOf(env).readPolicy(name, currentTime()));
  if (!policy) return NOT_FOUND;
  return ok({ kind: "data", inject: textKey === "rules", data: policyObject(policy, textKey) });
}

function policyObject(policy: StoredPolicy, textKey: "rules" | "policy"): Record<string, unknown> {
  return { ...POLICY_VIEW.show(policy), [textKey]: policy.text };
}

/** Organizations, and auth mounts, that one answer asks: each is a call to an object. */
const MAX_ASKED = 200;

const HOLDERS = { count: "integer", more: "boolean", names: ["string"] } as const;

/** The shape of who uses a policy. */
const USAGE_SHAPE = {
  name: "string",
  tokens: "integer",
  roles: HOLDERS,
  entities: HOLDERS,
  groups: HOLDERS,
  teams: HOLDERS,
} as const;

/** Who has a policy or gives it; of a policy that does not exist too: a write of it would give them its rules. */
async function readPolicyUsage(context: CallContext): Answered {
  const { env, params } = context;
  const name = normalizePolicyName(params.name ?? "");
  await publishRecent(env, currentTime());
  const [tokens, roles, entities, groups, teams] = await Promise.all([
    countOfPolicy(env, name),
    rolesGiving(context, name),
    entitiesGiving(env, name),
    loadGroups(env, 0),
    teamsWith(env, name),
  ]);
  return ok(dataReply({ name, tokens, roles, entities, groups: holdersOf(groups.giving(name)), teams }));
}

async function rolesGiving({ env, installation, methods }: CallContext, policy: string): Promise<PolicyHolders> {
  const { mounts } = installation;
  const found = await inGroups(mounts.slice(0, MAX_ASKED), async (mount) => {
    const roles = (await methods.get(mount.type)?.rolesGiving(env, mount, policy)) ?? [];
    return holdersOf(roles.map((role) => `auth/${mount.path}role/${role}`));
  });
  return joinedHolders([await tokenRoles(env).allowing(policy), ...found], mounts.length > MAX_ASKED);
}

async function teamsWith(env: Env, policy: string): Promise<PolicyHolders> {
  const { items, next } = await organizationDirectory(env).after(0, MAX_ASKED);
  const found = await inGroups(items, ({ name }) => organizationNamed(env, name).teamsWithPolicy(policy));
  return joinedHolders(found, next !== null);
}

const NAMES = fieldSchema(PAGE);
const BELOW = "What comes before the last slash of the names";
const DETAILED = dataAnswer({ keys: ["string"], key_info: { "*": { ...POLICY_VIEW.shape, policy: "string" } } });

/** Reading policies, at the places where clients look for them. */
export const POLICY_READ_ROUTES: readonly Route[] = [
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
  listBelowRoute("sys/policy", "policies-list-below2"),
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
  listBelowRoute("sys/policies/acl", "policies-list-below"),
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
    parameters: { name: BELOW },
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
];

function listBelowRoute(path: string, operationId: string): Route {
  return simpleRoute("list", `${path}/:prefix{.+}`, {
    summary: "Lists the policies below a name with slashes.",
    operationId,
    parameters: { prefix: BELOW },
    answers: KEYS,
    input: NAMES,
    handle: listPoliciesBelow,
  });
}
