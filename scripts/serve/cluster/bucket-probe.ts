import { randomBytes } from "node:crypto";
import { err, ok, type Result } from "../../../src/base/result.ts";
import type { BucketProblem, ClusterBucket } from "./bucket.ts";

/** Largest accepted difference of the clocks of the bucket and a node (ms). workerd leaves the cluster beyond it. */
const MAX_CLOCK_OFFSET_MS = 2_000;

/** The header `Date` has whole seconds, and its answer took some time. */
const CLOCK_GRANULARITY_MS = 1_000;

/**
 * Tests whether a bucket has the guarantees on which a cluster depends. A store that ignores a condition would let two nodes own one
 * object, and tokens would be lost. The error names the test that failed.
 */
export async function probeBucket(
  bucket: Pick<ClusterBucket, "get" | "put" | "delete" | "lists" | "clockOffsetMs">,
): Promise<Result<void, BucketProblem>> {
  const key = `probe-${randomBytes(12).toString("hex")}`;
  const tested = await runTests(bucket, key);
  const deleted = await bucket.delete(key);
  return tested.ok && !deleted.ok ? failed("delete", deleted.error) : tested;
}

async function runTests(
  bucket: Pick<ClusterBucket, "get" | "put" | "lists" | "clockOffsetMs">,
  key: string,
): Promise<Result<void, BucketProblem>> {
  const created = await bucket.put(key, "first", { ifNoneMatch: "*" });
  if (!created.ok) return failed("conditional create", created.error);
  if (created.value === null) return failed("conditional create", "it refuses to make a new object");
  if (created.value === "") return failed("conditional create", "its answer has no ETag");

  const offset = bucket.clockOffsetMs;
  if (offset === undefined) return failed("clock", "its answers have no Date");
  if (Math.abs(offset) > MAX_CLOCK_OFFSET_MS + CLOCK_GRANULARITY_MS) {
    return failed(
      "clock",
      `it is ${Math.round(Math.abs(offset) / 1000)} s ${offset > 0 ? "ahead of" : "behind"} this one`,
    );
  }

  const again = await bucket.put(key, "again", { ifNoneMatch: "*" });
  if (!again.ok) return failed("conditional create", again.error);
  if (again.value !== null) return failed("conditional create", "it replaces an object that exists");

  const replaced = await bucket.put(key, "second", { ifMatch: created.value });
  if (!replaced.ok) return failed("conditional replace", replaced.error);
  if (replaced.value === null) return failed("conditional replace", "it refuses the ETag that it gave");
  const outdated = await bucket.put(key, "third", { ifMatch: created.value });
  if (!outdated.ok) return failed("conditional replace", outdated.error);
  if (outdated.value !== null) return failed("conditional replace", "it accepts the ETag of an older version");

  const read = await bucket.get(key);
  if (!read.ok) return failed("read after write", read.error);
  if (read.value?.text !== "second") return failed("read after write", "it does not return what was written last");

  const listed = await bucket.lists(key);
  if (!listed.ok) return failed("list after write", listed.error);
  return listed.value ? ok(undefined) : failed("list after write", "its list lacks an object that was written");
}

function failed(test: string, problem: BucketProblem | string): Result<never, BucketProblem> {
  if (typeof problem !== "string" && problem.isLocal) return err(problem);
  const { message, passes } = typeof problem === "string" ? { message: problem, passes: false } : problem;
  return err({ message: `the bucket fails the test "${test}": ${message}`, passes });
}
