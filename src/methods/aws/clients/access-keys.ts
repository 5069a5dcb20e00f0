import { type Failure, inContext } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { readAnswer } from "../answers/answer.ts";
import { type AccessKey, readCreatedAccessKey, readUser } from "../answers/iam.ts";
import { callApi } from "./call-api.ts";
import type { CloudClient, Credentials } from "./client.ts";
import { iamCall } from "./principals.ts";
import type { CallPolicy } from "./retry.ts";
import { serverPartition } from "./server-credentials.ts";

/** The friendly name of the user whose keys these are. */
export async function findKeyOwner(client: CloudClient, keys: Credentials): Promise<Result<string, Failure>> {
  const user = await callIam(client, keys, { Action: "GetUser" });
  const owner = user.ok ? readUser(user.value, null) : user;
  return owner.ok ? ok(owner.value.arn.friendlyName) : err(inContext("error calling GetUser", owner.error));
}

/**
 * Makes another access key for a user. IAM refuses a third. Not repeated: a first call whose answer was lost has made a
 * key, too.
 */
export async function createAccessKey(
  client: CloudClient,
  keys: Credentials,
  userName: string,
): Promise<Result<AccessKey, Failure>> {
  const form = { Action: "CreateAccessKey", UserName: userName };
  const answer = await callIam(client, keys, form, { ...client.policy, maxRetries: 0 });
  const created = answer.ok ? readCreatedAccessKey(answer.value) : answer;
  return created.ok ? created : err(inContext("error calling CreateAccessKey", created.error));
}

/** Deletes an access key of a user. The keys may be so new that IAM does not know them everywhere yet. */
export async function deleteAccessKey(
  client: CloudClient,
  keys: Credentials,
  userName: string,
  accessKeyId: string,
): Promise<Result<null, Failure>> {
  const form = { Action: "DeleteAccessKey", UserName: userName, AccessKeyId: accessKeyId };
  const answer = await callIam(client, keys, form, { ...client.policy, maxRetries: 12, alsoTemporary: UNKNOWN_KEY });
  const deleted = answer.ok ? readAnswer(answer.value, "IAM", "DeleteAccessKeyResponse") : answer;
  return deleted.ok ? ok(null) : err(inContext("error calling DeleteAccessKey", deleted.error));
}

const UNKNOWN_KEY: ReadonlySet<string> = new Set(["InvalidClientTokenId"]);

function callIam(
  client: CloudClient,
  keys: Credentials,
  form: Readonly<Record<string, string>>,
  policy: CallPolicy = client.policy,
) {
  return callApi(policy, iamCall(client, serverPartition(client.env), form), keys);
}
