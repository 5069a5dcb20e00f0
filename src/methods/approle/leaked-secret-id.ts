import type { LeakedText, LoginRoleId, LoginText } from "../../auth/leaked-text.ts";
import { currentTime } from "../../base/clock.ts";
import { isMissingMethod } from "../../base/platform-errors.ts";
import { appRoleAuthAt, type NamedRole } from "./app-role-auth.ts";
import { type AppRole, MAX_ROLE_ID } from "./role.ts";
import { MAX_SECRET_ID, type SecretId } from "./secret-id.ts";
import { placeOfSecretId, secretIdShardAt } from "./secret-id-shards.ts";

/** Maximum number of roles in which a text is looked for: each costs a keyed hash. */
const SEARCHED_ROLES = 500;

/** Returns the secret-id of a mount with this text, unless it has ended; or else the role-id. Counts no use. */
export async function findLoginId(question: LeakedText): Promise<LoginText | null> {
  const secretId = await findSecretId(question);
  if (secretId?.kind === "secret-id" || question.text.length > MAX_ROLE_ID) return secretId;
  const { found } = await appRoleAuthAt(question.env, question.mount).readByRoleId(question.text);
  const roleId = found && roleIdOf(found);
  // A role-id that is no secret by itself does not answer whether the text is a secret-id, too.
  return roleId && (secretId === null || !roleId.needsSecret) ? roleId : secretId;
}

function roleIdOf({ name, role }: NamedRole): LoginRoleId {
  const { bindSecretId: needsSecret, boundCidrs, token } = role;
  return { kind: "role-id", role: name, needsSecret, networks: [boundCidrs, token.boundCidrs] };
}

/**
 * Returns the secret-id of a mount with this text, unless it has ended. It is stored under a hash that covers its role,
 * so it is looked for in each role.
 */
async function findSecretId({ env, installation, mount, text }: LeakedText): Promise<LoginText | null> {
  if (text.length > MAX_SECRET_ID) return null;
  const notAsked = { kind: "not asked", ask: `auth/${mount.path}role/NAME/secret-id/lookup` } as const;
  try {
    const { roles, isAll } = await appRoleAuthAt(env, mount).rolesWithSecretIds(SEARCHED_ROLES);
    const places = await Promise.all(
      roles.map(async ({ name, id }) => ({
        name,
        role: id,
        ...(await placeOfSecretId(installation.keys, mount, { id }, text)),
      })),
    );
    const now = currentTime();
    const asked = [...Map.groupBy(places, ({ shard }) => shard)].map(([shard, of]) =>
      secretIdShardAt(env, mount, shard).findOfRoles(
        of.map(({ role, hash }) => ({ role, hash })),
        now,
      ),
    );
    const found = (await Promise.all(asked)).find((one) => one !== null);
    if (!found) return isAll ? null : notAsked;
    const { accessor, createdAt, expiresAt, metadata } = found.secretId;
    const role = roles.find(({ id }) => id === found.role)?.name ?? "";
    const networks = networksOf(found.secretId, await appRoleAuthAt(env, mount).readRole(role));
    return { kind: "secret-id", role, accessor, createdAt, expiresAt, metadata, networks };
  } catch (error) {
    // An object that still runs the last release lacks the method.
    if (isMissingMethod(error)) return notAsked;
    throw error;
  }
}

/** The lists of networks that a client must be in, all of them. @param role null: it was deleted meanwhile. */
function networksOf(secretId: SecretId, role: AppRole | null): (readonly string[])[] {
  return [role?.boundCidrs ?? [], secretId.cidrs, role?.token.boundCidrs ?? [], secretId.tokenCidrs];
}
