import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { unread } from "../../../wire/fields.ts";

/** The field of the body that names a lease. */
export const LEASE_ID = { lease_id: unread("string").describe("The id of the lease") };

/** The part of the path that names a lease. */
export const LEASE_PARAMETER = { url_lease_id: "The id of the lease, unless the body has it" };

/**
 * The id of the body, else that of the path. Messages are the reference's (sys/leases).
 *
 * @param sent what the body has, of whatever type.
 */
export function readLeaseIdField(sent: unknown, inPath: string): Result<string, Failure> {
  if (sent !== undefined && typeof sent !== "string") return err(invalid("invalid lease ID"));
  const id = sent || inPath;
  return id === "" ? err(invalid("lease_id must be specified")) : ok(id);
}
