import { ok, type Result, refuse } from "../../../base/result.ts";
import type { CloudAnswer } from "../answers/answer.ts";
import { type IamPrincipal, readInstanceProfileRole, readRole, readUser } from "../answers/iam.ts";
import { type PrincipalArn, type PrincipalType, parsePrincipalArn } from "../arn.ts";
import { iamHostOf, type Partition } from "../regions.ts";
import { callForAccount } from "./account-credentials.ts";
import { type AccountClient, type CloudClient, endpointOf } from "./client.ts";
import { sharedLookup } from "./lookups.ts";
import type { ApiCall } from "./sts.ts";

const API_VERSION = "2010-05-08";

/** The operation of IAM that looks up a kind of principal by name. */
type IamLookup = {
  readonly operation: string;
  readonly parameter: string;
  readonly read: (answer: CloudAnswer, accountId: string) => Result<IamPrincipal>;
};

const ROLE: IamLookup = { operation: "GetRole", parameter: "RoleName", read: readRole };
const LOOKUPS: Readonly<Record<PrincipalType, IamLookup>> = {
  user: { operation: "GetUser", parameter: "UserName", read: readUser },
  role: ROLE,
  "assumed-role": ROLE,
  "instance-profile": {
    operation: "GetInstanceProfile",
    parameter: "InstanceProfileName",
    read: readInstanceProfileRole,
  },
};

/**
 * Looks up a user or role in IAM by its name, with its path and its unique ID. For an assumed role this is the role;
 * for an instance profile it is the one role in the profile.
 */
export async function findPrincipal(
  of: AccountClient,
  { type, partition, friendlyName }: PrincipalArn,
): Promise<Result<IamPrincipal>> {
  const { operation, parameter, read } = LOOKUPS[type];
  const fetch = async () => {
    const call = iamCall(of, partition, { Action: operation, [parameter]: friendlyName });
    const answer = await callForAccount(of, partition, call);
    const principal = answer.ok ? read(answer.value, of.accountId) : answer;
    return principal.ok ? ok({ [friendlyName]: principal.value }) : principal;
  };
  const found = await sharedLookup(of, `${operation} ${partition} ${friendlyName}`, friendlyName, 1, fetch);
  if (!found.ok) return found;
  const { value } = found;
  return value && "uniqueId" in value ? ok(value) : refuse(`${operation} gives another name`);
}

/** Looks up the role in the instance profile with this ARN. The profile must belong to the account. */
export async function findProfileRole(of: AccountClient, profileArn: string): Promise<Result<IamPrincipal>> {
  const profile = parsePrincipalArn(profileArn);
  const fits = profile.ok && profile.value.type === "instance-profile";
  if (!fits || profile.value.accountId !== of.accountId) {
    return refuse("IAM instance profile ARN in the instance description is not one of the account");
  }
  return findPrincipal(of, profile.value);
}

/** A call of IAM in a partition. */
export function iamCall(client: CloudClient, partition: Partition, form: Readonly<Record<string, string>>): ApiCall {
  const { host, signingRegion } = iamHostOf(partition);
  return {
    service: "IAM",
    endpoint: endpointOf(client.config.iamEndpoint, host),
    region: signingRegion,
    form: { ...form, Version: API_VERSION },
  };
}
