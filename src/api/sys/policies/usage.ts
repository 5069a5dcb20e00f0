import type { CallContext } from "../../../auth/route.ts";
import { currentTime } from "../../../base/clock.ts";
import type { Failure } from "../../../base/errors.ts";
import { inGroups } from "../../../base/parallel.ts";
import { ok, type Result } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { entitiesGiving } from "../../../identity/entities.ts";
import { loadGroups } from "../../../identity/known-groups.ts";
import { countOfPolicy } from "../../../listing/inventory/queries.ts";
import { publishRecent } from "../../../listing/updates/recent.ts";
import { holdersOf, joinedHolders, type PolicyHolders } from "../../../policy/holders.ts";
import { normalizePolicyName } from "../../../policy/name.ts";
import { organizationDirectory, organizationNamed } from "../../../team/find.ts";
import { tokenRoles } from "../../../token/roles/token-roles.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";

/** Organizations, and auth mounts, that one answer asks: each is a call to an object. */
const MAX_ASKED = 200;

const HOLDERS = { count: "integer", more: "boolean", names: ["string"] } as const;

/** The shape of who uses a policy. */
export const USAGE_SHAPE = {
  name: "string",
  tokens: "integer",
  roles: HOLDERS,
  entities: HOLDERS,
  groups: HOLDERS,
  teams: HOLDERS,
} as const;

type UsageCall = Pick<CallContext<unknown, null>, "env" | "installation" | "methods" | "params">;

/** Who has a policy or gives it; of a policy that does not exist too: a write of it would give them its rules. */
export async function readPolicyUsage(context: UsageCall): Promise<Result<Reply, Failure>> {
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

async function rolesGiving({ env, installation, methods }: UsageCall, policy: string): Promise<PolicyHolders> {
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
