import { type Failure, inContext } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { CloudAnswer } from "../answers/answer.ts";
import { type AccessKey, readCreatedAccessKey, readDeletedAccessKey, readUser } from "../answers/iam.ts";
import type { Credentials } from "../answers/sts.ts";
import { callApi } from "./call-api.ts";
import type { CloudClient } from "./client.ts";
import { iamCall } from "./principals.ts";
import type { CallPolicy } from "./retry.ts";
import { serverPartition } from "./server-credentials.ts";

/** The friendly name of the user whose keys these are. */
export async function findKeyOwner(client: CloudClient, keys: Credentials): Promise<Result<string, Failure>> {
  const user = await callIam(client, keys, { Action: "GetUser" }, (answer) => readUser(answer, null));
  return user.ok ? ok(user.value.arn.friendlyName) : user;
}

/**
 * Makes another access key for a user. IAM refuses a third. Not repeated: a first call whose answer was lost has made a
 * key, too.
 */
export function createAccessKey(
  client: CloudClient,
  keys: Credentials,
  userName: string,
): Promise<Result<AccessKey, Failure>> {
  const form = { Action: "CreateAccessKey", UserName: userName };
  return callIam(client, keys, form, readCreatedAccessKey, { maxRetries: 0 });
}

/** Deletes an access key of a user. The keys may be so new that IAM does not know them everywhere yet. */
export function deleteAccessKey(
  client: CloudClient,
  keys: Credentials,
  userName: string,
  accessKeyId: string,
): Promise<Result<null, Failure>> {
  const form = { Action: "DeleteAccessKey", UserName: userName, AccessKeyId: accessKeyId };
  return callIam(client, keys, form, readDeletedAccessKey, { maxRetries: 12, alsoTemporary: UNKNOWN_KEY });
}

const UNKNOWN_KEY: ReadonlySet<string> = new Set(["InvalidClientTokenId"]);

async function callIam<T>(
  client: CloudClient,
  keys: Credentials,
  form: Readonly<Record<string, string>> & { readonly Action: string },
  read: (answer: CloudAnswer) => Result<T, Failure>,
  policy: Partial<CallPolicy> = {},
): Promise<Result<T, Failure>> {
  const call = iamCall(client, serverPartition(client.env), form);
  const answer = await callApi({ ...client.policy, ...policy }, call, keys);
  const result = answer.ok ? read(answer.value) : answer;
  return result.ok ? result : err(inContext(`error calling ${form.Action}`, result.error));
}
