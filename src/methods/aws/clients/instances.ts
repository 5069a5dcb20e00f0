import { ok, type Result, refuse } from "../../../base/result.ts";
import { readInstances, runningInstance, type VmInstance } from "../answers/ec2.ts";
import { findRegion, type Region } from "../regions.ts";
import { callForAccount } from "./account-credentials.ts";
import type { AccountClient } from "./client.ts";
import { sharedLookup } from "./lookups.ts";

const API_VERSION = "2016-11-15";
/** Instances of one call; their descriptions have to fit into the longest answer that is read. */
const MAX_INSTANCES = 20;
const INSTANCE_ID = /^i-[0-9a-z]{1,32}$/;

/** An instance of the account that runs in the region, as the cloud describes it now. */
export async function findRunningInstance(
  of: AccountClient,
  regionName: string,
  instanceId: string,
): Promise<Result<VmInstance>> {
  const region = findRegion(regionName);
  if (region === null) return refuse("the region of the instance is not a region of the cloud");
  if (!INSTANCE_ID.test(instanceId)) return refuse("not the ID of an instance");
  const group = { name: `instances ${region.name}`, maxItems: MAX_INSTANCES };
  const describe = (ids: string[]) => describeInstances(of, region, ids);
  const found = await sharedLookup(of, group, instanceId, describe);
  if (!found.ok) return found;
  return runningInstance(found.value && "instanceId" in found.value ? found.value : null);
}

/**
 * Asks by filter rather than by id: an id that does not exist is then left out of the answer, where it would else fail
 * the call, and with it the logins of all the others.
 */
async function describeInstances(
  of: AccountClient,
  region: Region,
  ids: readonly string[],
): Promise<Result<Record<string, VmInstance>>> {
  const values = ids.map((id, index) => [`Filter.1.Value.${index + 1}`, id] as const);
  const answer = await callForAccount(of, region.partition, {
    service: "EC2",
    endpoint: of.client.endpoints.ec2 || `https://${region.ec2Host}`,
    region: region.name,
    form: {
      Action: "DescribeInstances",
      Version: API_VERSION,
      "Filter.1.Name": "instance-id",
      ...Object.fromEntries(values),
    },
  });
  if (!answer.ok) return answer;
  const instances = readInstances(answer.value, of.account.accountId);
  return instances.ok ? ok(Object.fromEntries(instances.value)) : instances;
}
