import { ok, type Result, refuse } from "../../../base/result.ts";
import { readInstances, runningInstance, type VmInstance } from "../answers/ec2.ts";
import { findRegion, type Region } from "../regions.ts";
import { callForAccount } from "./account-credentials.ts";
import { type AccountClient, endpointOf } from "./client.ts";
import { sharedLookup } from "./lookups.ts";

const API_VERSION = "2016-11-15";
/** Maximum number of instances in one call: their descriptions must fit into the longest answer that is read. */
const MAX_INSTANCES = 20;
const INSTANCE_ID = /^i-[0-9a-z]{1,32}$/;

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
async function describeInstances(
  of: AccountClient,
  region: Region,
  ids: readonly string[],
): Promise<Result<Record<string, VmInstance>>> {
  const answer = await callForAccount(of, region.partition, {
    service: "EC2",
    endpoint: endpointOf(of.config.endpoint, region.ec2Host),
    region: region.name,
    form: {
      Action: "DescribeInstances",
      Version: API_VERSION,
      "Filter.1.Name": "instance-id",
      ...Object.fromEntries(ids.map((id, index) => [`Filter.1.Value.${index + 1}`, id])),
    },
  });
  if (!answer.ok) return answer;
  const instances = readInstances(answer.value, of.accountId);
  return instances.ok ? ok(Object.fromEntries(instances.value)) : instances;
}
