import { type Failure, invalid } from "../../errors.ts";
import { err, ok, type Result } from "../../result.ts";
import { type CloudAnswer, readAnswer, unreadable } from "./answer.ts";
import { onlyChild, textAt, type XmlElement } from "./xml.ts";

/** A running instance, as the cloud's API describes it. What a description can lack is null. */
export type VmInstance = {
  readonly instanceId: string;
  /** 12 digits: the account that owns the instance. */
  readonly accountId: string;
  readonly imageId: string | null;
  readonly subnetId: string | null;
  readonly vpcId: string | null;
  readonly instanceProfileArn: string | null;
  readonly tags: ReadonlyMap<string, string>;
};

/**
 * Reads the answer to DescribeInstances for one instance. It must describe that instance and no other, in the account
 * that was asked for, and the instance must be running.
 */
export function readRunningInstance(
  answer: CloudAnswer,
  expected: { readonly instanceId: string; readonly accountId: string },
): Result<VmInstance, Failure> {
  const document = readAnswer(answer, "EC2", "DescribeInstancesResponse");
  if (!document.ok) return document;
  const [reservation, ...otherReservations] = items(document.value, "reservationSet");
  if (reservation === undefined) return err(invalid("no reservations found in instance description"));
  const [instance, ...others] = items(reservation, "instancesSet");
  if (instance === undefined) return err(invalid("no instance details found in reservations"));
  if (others.length > 0 || otherReservations.length > 0) {
    return err(invalid("more than one instance found in instance description"));
  }

  if (textAt(instance, "instanceId") !== expected.instanceId) {
    return err(invalid("expected instance ID not matching the instance ID in the instance description"));
  }
  if (textAt(reservation, "ownerId") !== expected.accountId) {
    return err(invalid("instance belongs to another account"));
  }
  const state = textAt(instance, "instanceState", "name");
  if (state === null) return err(invalid("instance state in instance description is nil"));
  if (state !== "running") return err(invalid("instance is not in 'running' state"));
  const tags = readTags(instance);
  if (tags === null) return err(unreadable("EC2"));
  return ok({
    ...expected,
    imageId: textAt(instance, "imageId"),
    subnetId: textAt(instance, "subnetId"),
    vpcId: textAt(instance, "vpcId"),
    instanceProfileArn: textAt(instance, "iamInstanceProfile", "arn"),
    tags,
  });
}

function items(element: XmlElement, set: string): readonly XmlElement[] {
  return onlyChild(element, set)?.children.filter((child) => child.name === "item") ?? [];
}

/** A tag's key stands once on an instance; twice means the answer is not what it seems. */
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
