import { type CallContext, mountOf } from "../../../auth/route.ts";
import { attempted } from "../../../base/lost-call-retry.ts";
import { serviceUnavailable } from "../../../base/outbound-http.ts";
import { err, type Failure, inContext, ok, type Result, refuse } from "../../../base/result.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";
import { type CloudAnswer, readCreatedAccessKey, readDeletedAccessKey, readUser } from "../answers/read-answers.ts";
import {
  type CallPolicy,
  type CloudAccess,
  type CloudClient,
  callApi,
  configuredKeys,
  iamCall,
  openClient,
} from "../clients/client.ts";
import { type ClientConfig, SECRET_KEY } from "../clients/client-config.ts";
import { serverPartition } from "../clients/server-credentials.ts";
import { sealCloudSecret } from "../cloud-secrets.ts";
import { changeConfiguration, cloudAuthOf, operatorClient } from "../mount/mount-config.ts";

/**
 * Replaces the access key by one that no operator has seen. The new key is created, stored, and then
 * the old one is deleted, so the configured key is always valid. After a failure in between the mount still works,
 * and the message names the key that an operator has to delete.
 */
export async function rotateRoot(context: CallContext<unknown, unknown>): Promise<Result<Reply>> {
  const access: Rotation = { ...context, mount: mountOf(context) };
  const config = await cloudAuthOf(context).readClient();
  if (!config) return refuse("can't update client config because it's unset");
  const problem = problemOf(config);
  if (problem) return refuse(problem);

  const oldKey = config.accessKey;
  const created = await makeKey(await openClient(access, config));
  if (!created.ok) return err(withAdvice(created.error));
  const stored = await storeKey(access, oldKey, created.value);
  if (!stored.ok) return stored;
  const { userName, accessKeyId } = created.value;
  const deleted = await dropKey(access, userName, oldKey);
  const warning = `The new access key is configured, but the old one, ${oldKey}, could not be deleted. Delete it by hand: it is still good.`;
  return dataReply({ access_key: accessKeyId }, deleted.ok ? undefined : [warning]);
}

type Rotation = CallContext & CloudAccess;

/** Messages are those of the reference's AWS method (config/rotate-root). */
function problemOf(client: ClientConfig): string | null {
  if (client.webIdentity) {
    return "there is no key to rotate: this mount assumes role_arn by identity tokens. Rotate their signing key at identity/oidc/key";
  }
  if (client.accessKey === "") return "can't update access_key because it's unset";
  return client.sealedSecretKey === null ? "can't update secret_key because it's unset" : null;
}

/** Adds advice to a failure: a call whose answer was lost may have created a key. */
function withAdvice(failure: Failure): Failure {
  if (!("message" in failure)) return failure;
  const advice =
    "the configured access key stays. IAM allows a user two keys: if this one has a second by now, delete it and try again";
  return { ...failure, message: `${failure.message}; ${advice}` };
}

interface NewAccessKey {
  readonly userName: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Creates a second access key for the user of the configured one. IAM refuses a third. */
async function makeKey(client: CloudClient): Promise<Result<NewAccessKey>> {
  const user = await callIam(client, { Action: "GetUser" }, (answer) => readUser(answer, null));
  if (!user.ok) return user;
  const userName = user.value.arn.friendlyName;
  const form = { Action: "CreateAccessKey", UserName: userName };
  // Not repeated: if the answer of the first call was lost, a second call would create another key.
  const key = await callIam(client, form, readCreatedAccessKey, { maxRetries: 0 });
  return key.ok ? ok({ userName, ...key.value }) : key;
}

async function dropKey(access: CloudAccess, userName: string, accessKeyId: string): Promise<Result<null>> {
  const form = { Action: "DeleteAccessKey", UserName: userName, AccessKeyId: accessKeyId };
  // A new key may take some seconds until IAM knows it everywhere.
  const policy = { maxRetries: 12, alsoTemporary: ["InvalidClientTokenId"] };
  return callIam(await operatorClient(access), form, readDeletedAccessKey, policy);
}

/** Configures the new key. If that fails, deletes it again. */
async function storeKey(access: Rotation, oldKey: string, created: NewAccessKey): Promise<Result<null>> {
  const { userName, accessKeyId: accessKey, secretAccessKey } = created;
  const sealedSecretKey = await sealCloudSecret(access.installation.keys, access.mount, SECRET_KEY, secretAccessKey);
  const configured = await configureKey(access, oldKey, { accessKey, sealedSecretKey });
  if (configured === accessKey) return ok(null);
  if (configured === null) {
    const message = `it is not known which access key is configured now, ${oldKey} or ${accessKey}; both are good. Read config/client, and delete the other one by hand`;
    return err(serviceUnavailable(message));
  }
  const deleted = await dropKey(access, userName, accessKey);
  const leftover = deleted.ok ? "" : `. Delete the new one, ${accessKey}, by hand`;
  return refuse(`the client config was changed at the same time, so the access key was not rotated${leftover}`);
}

/** Replaces the configured key. Returns the one that is configured then; null when the object does not answer. */
async function configureKey(
  access: Rotation,
  oldKey: string,
  change: { readonly accessKey: string; readonly sealedSecretKey: string },
): Promise<string | null> {
  try {
    const replaced = await changeConfiguration(access, (auth) =>
      attempted(access.env, (attempt) => auth.replaceAccessKey(oldKey, change, attempt)),
    );
    if (replaced.answer) return change.accessKey;
  } catch {
    // The object may have stored the key before its answer was lost, so it is asked below.
  }
  try {
    return (await cloudAuthOf(access).readClient())?.accessKey ?? "";
  } catch {
    return null;
  }
}

/** Calls IAM with the configured keys only: a mount must not replace the keys of the server. */
async function callIam<T>(
  client: CloudClient,
  form: Readonly<Record<string, string>> & { readonly Action: string },
  read: (answer: CloudAnswer) => Result<T>,
  policy: Partial<CallPolicy> = {},
): Promise<Result<T>> {
  const keys = await configuredKeys(client);
  if (!keys.ok) return keys;
  if (!keys.value) return refuse("can't update access_key because it's unset");
  const call = iamCall(client, serverPartition(client.env), form);
  const answer = await callApi(client, call, keys.value, policy);
  const result = answer.ok ? read(answer.value) : answer;
  return result.ok ? result : err(inContext(`error calling ${form.Action}`, result.error));
}
