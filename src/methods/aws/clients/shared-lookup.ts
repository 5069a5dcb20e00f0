import type { Failure } from "../../../base/errors.ts";
import { within } from "../../../base/location.ts";
import { ok, type Result } from "../../../base/result.ts";
import type { FetchItems } from "./call-queue.ts";
import { type CloudAccount, type CloudClient, nameOf } from "./client.ts";
import type { Found } from "./lookups.ts";

/** Items of an account that one call can look up together. */
export type LookupGroup = {
  readonly name: string;
  /** Most items of a call. */
  readonly maxItems: number;
};

/**
 * Looks up an item of an account. Equal and similar look-ups of other requests share the call.
 *
 * @param isFound distinguishes this kind of item from the others that are looked up.
 */
export async function sharedLookup<T extends Found>(
  client: CloudClient,
  account: CloudAccount,
  group: LookupGroup,
  item: string,
  fetch: FetchItems<T>,
  isFound: (found: Found) => found is T,
): Promise<Result<T | null, Failure>> {
  const { accountId, stsRole } = account;
  const name = await nameOf(client.revision, accountId, stsRole?.arn ?? null, stsRole?.externalId ?? null);
  const lookups = within(client.env, client.env.CLOUD_LOOKUPS).getByName(name);
  const found: Result<Found | null, Failure> = await lookups.ask(group.name, item, group.maxItems, fetch);
  if (!found.ok) return found;
  return ok(found.value && isFound(found.value) ? found.value : null);
}
