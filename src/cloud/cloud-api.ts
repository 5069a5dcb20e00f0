import type { Keys } from "../crypto/key-ring.ts";
import type { Env } from "../env.ts";
import { type Failure, invalid } from "../errors.ts";
import { err, type Result } from "../result.ts";
import type { Mount } from "../sys/mount.ts";
import type { AccessKey } from "./answers/iam.ts";
import type { PrincipalArn } from "./arn.ts";

/** On whose behalf the cloud is asked: the configuration of the mount says with which credentials. */
export interface CloudAccess {
  readonly env: Env;
  readonly keys: Keys;
  readonly mount: Mount;
}

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

const NO_CLOUD = err(invalid("this installation has no client for the cloud"));

/** The cloud as this installation reaches it. */
export const cloudApi: CloudApi = {
  resolvePrincipal: async () => NO_CLOUD,
  createAccessKey: async () => NO_CLOUD,
  deleteAccessKey: async () => NO_CLOUD,
};
