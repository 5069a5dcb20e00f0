import { type Failure, invalid } from "../../../base/errors.ts";

/** What `sys/auth` says of a path without a mount. The message is the reference's. */
export function noAuthMount(path: string): Failure {
  return invalid(`No auth engine at ${path}`);
}

/**
 * What `sys/mounts` says of a place without a mount; of an auth mount `path` begins with "auth/".
 * The message is the reference's.
 */
export function noEngine(path: string): Failure {
  return invalid(`No secret engine mount at ${path}`);
}
