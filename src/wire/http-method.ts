import type { Operation } from "../policy/operation.ts";

const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ["GET", "read"],
  ["HEAD", "head"],
  ["POST", "update"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** Returns the operation of an HTTP method; null for any other. The query of a GET can choose another operation. */
export function operationOfMethod(method: string): Operation | null {
  return OPERATIONS.get(method) ?? null;
}
