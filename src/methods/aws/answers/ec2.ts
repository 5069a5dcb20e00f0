import { err, ok, type Result, refuse } from "../../../base/result.ts";
import { type CloudAnswer, readAnswer, unreadable } from "./answer.ts";
import { onlyChild, textAt, type XmlElement } from "./xml.ts";

/** An instance as the cloud describes it. An absent part of the description is null. */
export type VmInstance = {
  readonly instanceId: string;
  /** The owner of the instance: 12 digits. */
  readonly accountId: string;
  /** Such as `running` or `stopped`. */
  readonly state: string | null;
  readonly imageId: string | null;
  readonly subnetId: string | null;
  readonly vpcId: string | null;
  readonly instanceProfileArn: string | null;
  readonly tags: ReadonlyMap<string, string>;
};

/** Reads the answer to DescribeInstances: the instances by id. All must belong to `accountId`, and none may repeat. */
export function readInstances(answer: CloudAnswer, accountId: string): Result<ReadonlyMap<string, VmInstance>> {
  const document = readAnswer(answer, "EC2", "DescribeInstancesResponse");
  if (!document.ok) return document;
  const instances = new Map<string, VmInstance>();
  for (const reservation of items(document.value, "reservationSet")) {
    if (textAt(reservation, "ownerId") !== accountId) return refuse("instance belongs to another account");
    for (const item of items(reservation, "instancesSet")) {
      const instance = readInstance(item, accountId);
      if (instance === null || instances.has(instance.instanceId)) return err(unreadable("EC2"));
      instances.set(instance.instanceId, instance);
    }
  }
  return ok(instances);
}

/** Returns the instance if it was found and runs. */
export function runningInstance(instance: VmInstance | null): Result<VmInstance> {
  if (instance === null) return refuse("no reservations found in instance description");
  if (instance.state === null) return refuse("instance state in instance description is nil");
  if (instance.state !== "running") return refuse("instance is not in 'running' state");
  return ok(instance);
}

function readInstance(item: XmlElement, accountId: string): VmInstance | null {
  const instanceId = textAt(item, "instanceId");
  const tags = readTags(item);
  if (instanceId === null || tags === null) return null;
  return {
    instanceId,
    accountId,
    state: textAt(item, "instanceState", "name"),
    imageId: textAt(item, "imageId"),
    subnetId: textAt(item, "subnetId"),
    vpcId: textAt(item, "vpcId"),
    instanceProfileArn: textAt(item, "iamInstanceProfile", "arn"),
    tags,
  };
}

function items(element: XmlElement, set: string): readonly XmlElement[] {
  return onlyChild(element, set)?.children.filter((child) => child.name === "item") ?? [];
}

/** Reads the tags of an instance. Null when a key is repeated: the cloud's keys are unique. */
function readTags(instance: XmlElement): ReadonlyMap<string, string> | null {
  const tags = new Map<string, string>();
  for (const item of items(instance, "tagSet")) {
    const key = textAt(item, "key");
    const value = onlyChild(item, "value");
    if (key === null || value === null || value.children.length > 0 || tags.has(key)) return null;
    tags.set(key, value.text);
  }
  return tags;
}
