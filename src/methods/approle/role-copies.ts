import { type CallContext, mountOf } from "../../auth/route.ts";
import { nameKey } from "../../base/case-folding.ts";
import { copyLimits } from "../../system/copy-age.ts";
import type { Mount } from "../../system/mount.ts";
import { changeAndAnnounce, copiesOf, ownersOfCopies, type PartInState, policyOfCopies } from "../config-copies.ts";
import { type AppRoleAuth, appRoleAuthAt, type NamedRole } from "./app-role-auth.ts";
import type { AppRoleEnv } from "./env.ts";

/** The isolate's copies of roles, by mount and role-id. */
const roleCopies = copiesOf<PartInState<NamedRole> | undefined>();
const ownerOf = ownersOfCopies("approle_mount");

/** The object of the mount of a request. */
export function appRoleAuthOf(context: CallContext): DurableObjectStub<AppRoleAuth> {
  return appRoleAuthAt(context.env, mountOf(context));
}

/** The name of the role in a path, in lower case. */
export function roleNameOf({ params }: Pick<CallContext, "params">): string {
  return nameKey(params.role_name ?? "");
}

/**
 * Returns the role with this role-id, or null: a copy, in which every change of the role takes effect within
 * POLICY_CACHE_SECONDS. The absence of a role is not cached, as a client can send any text. A copy decides nothing that
 * must hold at once: a deleted role has no secret-ids, and a role whose logins need none is read again.
 */
export async function roleWithId(env: AppRoleEnv, mount: Mount, roleId: string): Promise<NamedRole | null> {
  const auth = appRoleAuthAt(env, mount);
  const policy = policyOfCopies(mount.methodState ?? 0, copyLimits(env));
  const read = async () => {
    const { found, state } = await auth.readByRoleId(roleId);
    return found ? { part: found, state } : undefined;
  };
  const copied = await roleCopies.load(`${mount.uuid} ${roleId}`, policy, read, ownerOf(mount));
  const named = copied?.part ?? null;
  return named && !named.role.bindSecretId ? (await auth.readByRoleId(roleId)).found : named;
}

/** Changes the roles of the mount of a request, see `changeAndAnnounce`. */
export function changeRoles<P>(
  context: CallContext,
  change: (auth: DurableObjectStub<AppRoleAuth>) => P,
): Promise<Awaited<P>> {
  const auth = appRoleAuthOf(context);
  return changeAndAnnounce(
    context.env,
    mountOf(context),
    auth,
    () => roleCopies.clear(),
    () => change(auth),
  );
}
