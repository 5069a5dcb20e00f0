import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../../../base/clock.ts";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { within } from "../../../base/location.ts";
import type { Result } from "../../../base/result.ts";
import type { VmInstance } from "../answers/ec2.ts";
import type { IamPrincipal } from "../answers/iam.ts";
import { CallQueue, type CallWidth, type FetchItems, isFull, UNREFUSED } from "./call-queue.ts";
import { type AccountClient, nameOf } from "./client.ts";

/** What is looked up. */
type Found = VmInstance | IamPrincipal;

/** Groups whose refusals are remembered in one generation. There are as many as regions, and more only where IAM refuses. */
const MAX_REFUSED = 256;

/**
 * Lets the look-ups of one account share calls to the cloud. A Worker can't wait for what another request began, so the
 * waiting is done here. The calls are still made in the Workers: each asker brings a function, and of those whose items
 * are looked up together, one has its function called. No key and no address of the cloud comes here, and nothing is
 * stored.
 */
export class CloudLookups extends DurableObject {
  /** The groups with look-ups, by name. */
  readonly #queues = new Map<string, CallQueue<Found>>();
  /** What is remembered of groups that the cloud refused a call of. */
  readonly #refused = new GenerationalCache<string, CallWidth>(MAX_REFUSED);

  /**
   * Looks up `item`.
   *
   * @param group what kind of thing it is; items of one group can be looked up in one call.
   * @param maxItems most items of a call; the same for all of a group.
   * @returns what the call gives for the item, null when it gives nothing.
   */
  ask(group: string, item: string, maxItems: number, fetch: FetchItems<Found>): Promise<Result<Found | null>> {
    return new Promise((answer) => {
      const queue = this.#queues.get(group) ?? this.#openQueue(group, maxItems);
      queue.add({ item, fetch, answer });
    });
  }

  #openQueue(group: string, maxItems: number): CallQueue<Found> {
    const width = this.#refused.get(group) ?? UNREFUSED;
    const queue = new CallQueue<Found>(maxItems, width, currentTime, () => {
      this.#queues.delete(group);
      if (isFull(queue.width, currentTime())) this.#refused.forget(group);
      else this.#refused.set(group, queue.width, 1);
    });
    this.#queues.set(group, queue);
    return queue;
  }
}

/** Items of an account that one call can look up together. */
type LookupGroup = {
  readonly name: string;
  /** Most items of a call. */
  readonly maxItems: number;
};

/** Looks up an item of an account. Equal and similar look-ups of other requests share the call. */
export async function sharedLookup(
  { client, account }: AccountClient,
  group: LookupGroup,
  item: string,
  fetch: FetchItems<Found>,
): Promise<Result<Found | null>> {
  const { accountId, stsRole } = account;
  const name = await nameOf(client.revision, accountId, stsRole?.arn ?? null, stsRole?.externalId ?? null);
  const lookups = within(client.env, client.env.CLOUD_LOOKUPS).getByName(name);
  return lookups.ask(group.name, item, group.maxItems, fetch);
}
