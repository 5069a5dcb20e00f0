import type { PolicyUsageKind } from "../../auth/kinds.ts";
import { type CallContext, type Route, simpleRoute } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { loadGroups } from "../../identity/entity-copies.ts";
import { entitiesGiving } from "../../identity/read-entity.ts";
import { countOf } from "../../listing/inventory/queries.ts";
import { publishRecent } from "../../listing/updates/publish.ts";
import { normalizePolicyName } from "../../policy/policy-names.ts";
import { joinedUsage, type PolicyUsage, usageOf } from "../../policy/usage.ts";
import { tokenRoles } from "../../token/roles/token-roles.ts";
import { dataReply } from "../../wire/reply.ts";

/** Maximum number of auth mounts, and of objects of each kind, that one answer asks: each is a call to an object. */
const MAX_ASKED = 200;

const HOLDERS = { count: "integer", more: "boolean", names: ["string"] } as const;

/**
 * Who has a policy or gives it. It also answers for a policy that does not exist: its holders would get the rules of a
 * policy that is written under this name. `others` are asked besides roles, entities and groups.
 */
export function policyUsageRoute(others: readonly PolicyUsageKind[]): Route {
  const names = others.map(({ name }) => name);
  const given = ["roles", "entities", "groups", ...names];
  return simpleRoute("read", "sys/policies/usage/acl/:name{.+}", {
    summary: `Shows how many tokens have a policy, and which ${given.slice(0, -1).join(", ")} and ${given.at(-1)} give it.`,
    operationId: "policies-read-acl-usage",
    answers: dataAnswer({
      name: "string",
      tokens: "integer",
      ...Object.fromEntries(given.map((name) => [name, HOLDERS])),
    }),
    handle: async (context) => {
      const { env, params } = context;
      const name = normalizePolicyName(params.name ?? "");
      await publishRecent(env, currentTime());
      const [tokens, roles, entities, groups, ...found] = await Promise.all([
        countOf(env, "policy", [name]),
        rolesGiving(context, name),
        entitiesGiving(env, name),
        loadGroups(env, 0),
        ...others.map((other) => other.giving(env, name, MAX_ASKED)),
      ]);
      return dataReply({
        name,
        tokens: tokens.get(name) ?? 0,
        roles,
        entities,
        groups: usageOf(groups.giving(name)),
        ...Object.fromEntries(names.map((name, at) => [name, found[at]])),
      });
    },
  });
}

async function rolesGiving({ env, installation }: CallContext, policy: string): Promise<PolicyUsage> {
  const { mounts } = installation;
  const found = await inGroups(mounts.slice(0, MAX_ASKED), async (mount) => {
    const roles = (await env.kinds.methods.get(mount.type)?.rolesGiving(env, mount, policy)) ?? [];
    return usageOf(roles.map((role) => `auth/${mount.path}role/${role}`));
  });
  return joinedUsage([await tokenRoles(env).allowing(policy), ...found], mounts.length > MAX_ASKED);
}
