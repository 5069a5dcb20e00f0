import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { AccessKey } from "../answers/iam.ts";
import type { PrincipalArn } from "../arn.ts";
import { createAccessKey, deleteAccessKey, findKeyOwner } from "../clients/access-keys.ts";
import type { CloudClient, Credentials } from "../clients/client.ts";
import { DEFAULT_CLIENT } from "../clients/config.ts";
import { type CloudAccess, openClient } from "../clients/open-client.ts";
import { findPrincipal } from "../clients/principals.ts";
import { cloudAuthAt } from "../mount/mount.ts";

/** A user with a new access key beside the configured one. */
export interface NewAccessKey {
  readonly userName: string;
  readonly key: AccessKey;
}

/** What this method asks of the cloud outside of logins. Runs in the Worker, never in an object. */
export interface CloudApi {
  /** The unique id of a user or a role. */
  resolvePrincipal(access: CloudAccess, principal: PrincipalArn): Promise<Result<string, Failure>>;
  /** Makes a second access key for the user whose key is configured. */
  createAccessKey(access: CloudAccess): Promise<Result<NewAccessKey, Failure>>;
  /** Deletes an access key of that user, by the authority of the key that is configured now. */
  deleteAccessKey(access: CloudAccess, userName: string, accessKeyId: string): Promise<Result<null, Failure>>;
}

/** The cloud as this installation reaches it. */
export const cloudApi: CloudApi = {
  async resolvePrincipal(access, principal) {
    const client = await clientOf(access);
    const { accountId } = principal;
    const stsRole = await cloudAuthAt(access.env, access.mount).readStsRole(accountId);
    const found = await findPrincipal(client, { accountId, stsRole }, principal);
    return found.ok ? ok(found.value.uniqueId) : found;
  },

  async createAccessKey(access) {
    const client = await clientOf(access);
    const keys = await keysOf(client);
    if (!keys.ok) return keys;
    const userName = await findKeyOwner(client, keys.value);
    if (!userName.ok) return userName;
    const key = await createAccessKey(client, keys.value, userName.value);
    return key.ok ? ok({ userName: userName.value, key: key.value }) : key;
  },

  async deleteAccessKey(access, userName, accessKeyId) {
    const client = await clientOf(access);
    const keys = await keysOf(client);
    return keys.ok ? deleteAccessKey(client, keys.value, userName, accessKeyId) : keys;
  },
};

async function clientOf(access: CloudAccess): Promise<CloudClient> {
  const config = await cloudAuthAt(access.env, access.mount).readClient();
  return openClient(access, config ?? DEFAULT_CLIENT);
}

/** Rotation is about the configured keys alone: those of the server are not the mount's to replace. */
async function keysOf(client: CloudClient): Promise<Result<Credentials, Failure>> {
  const keys = await client.staticKeys();
  if (!keys.ok) return keys;
  return keys.value ? ok(keys.value) : err(invalid("can't update access_key because it's unset"));
}
