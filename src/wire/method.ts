import type { Operation } from "../policy/acl.ts";

const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ["GET", "read"],
  ["HEAD", "head"],
  ["POST", "update"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** What a method of HTTP stands for; null for one that no client may send. The query of a GET can ask for something else. */
export function operationOfMethod(method: string): Operation | null {
  return OPERATIONS.get(method) ?? null;
}
