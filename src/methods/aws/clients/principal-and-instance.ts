import { ok, type Result, refuse } from "../../../base/result.ts";
import {
  type IamPrincipal,
  readInstanceProfileRole,
  readInstances,
  readRole,
  readUser,
  runningInstance,
  type VmInstance,
} from "../answers/read-answers.ts";
import { type PrincipalArn, parsePrincipalArn } from "../arn.ts";
import { INSTANCE_ID } from "../documents/identity-document.ts";
import { findRegion, type Region } from "../regions.ts";
import { callForAccount } from "./account-credentials.ts";
import { sharedLookup } from "./batched-lookups.ts";
import { type AccountClient, iamCall, serviceUrl } from "./client.ts";

/** Maximum number of instances in one call: their descriptions must fit into the longest answer that is read. */
const MAX_INSTANCES = 20;

/** Finds an instance of the account that runs in the region, as the cloud describes it now. */
export async function findRunningInstance(
  of: AccountClient,
  regionName: string,
  instanceId: string,
): Promise<Result<VmInstance>> {
  const region = findRegion(regionName);
  if (region === null) return refuse("the region of the instance is not a region of the cloud");
  if (!INSTANCE_ID.test(instanceId)) return refuse("not the ID of an instance");
  const describe = (ids: string[]) => describeInstances(of, region, ids);
  const found = await sharedLookup(of, `instances ${region.name}`, instanceId, MAX_INSTANCES, describe);
  if (!found.ok) return found;
  return runningInstance(found.value && "instanceId" in found.value ? found.value : null);
}

/** Uses a filter, since an unknown id among the ids of a call would fail it for all of them. */
async function describeInstances(of: AccountClient, region: Region, ids: readonly string[]) {
  const answer = await callForAccount(of, region.partition, {
    service: "EC2",
    endpoint: serviceUrl(of.config.endpoint, region.ec2Host),
    region: region.name,
    form: {
      Action: "DescribeInstances",
      Version: "2016-11-15",
      "Filter.1.Name": "instance-id",
      ...Object.fromEntries(ids.map((id, index) => [`Filter.1.Value.${index + 1}`, id])),
    },
  });
  if (!answer.ok) return answer;
  const instances = readInstances(answer.value, of.accountId);
  return instances.ok ? ok(Object.fromEntries(instances.value)) : instances;
}

/** The operations of IAM that look up each type of principal by name. */
const LOOKUPS = {
  user: ["GetUser", "UserName", readUser],
  role: ["GetRole", "RoleName", readRole],
  "assumed-role": ["GetRole", "RoleName", readRole],
  "instance-profile": ["GetInstanceProfile", "InstanceProfileName", readInstanceProfileRole],
} as const;

/** Looks up in IAM: a user or role, the role of an assumed role, or the only role of an instance profile. */
export async function findPrincipal(
  of: AccountClient,
  { type, partition, friendlyName }: PrincipalArn,
): Promise<Result<IamPrincipal>> {
  const [operation, parameter, read] = LOOKUPS[type];
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
