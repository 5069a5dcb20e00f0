import type { Failure } from "../../../base/errors.ts";
import type { Result } from "../../../base/result.ts";
import type { Installation } from "../../../system/installation.ts";

/**
 * The version that clients see. They enable features by it and know only versions of the reference server, so it is the
 * version whose interface Grove implements.
 */
export const API_VERSION = "2.6.2";

/** The name of the one cluster that clients see. */
export const CLUSTER_NAME = "grove";

/** What anybody may know of the installation. */
export interface ServiceState {
  readonly initialized: boolean;
  readonly sealed: boolean;
  readonly clusterId: string;
  /** The version of the seal key that wraps the key ring; 0 while sealed. */
  readonly sealKeyVersion: number;
}

/** The state as the isolate knows it that serves the request. */
export function stateOf(loaded: Result<Installation, Failure>): ServiceState {
  if (loaded.ok) {
    const { clusterId, sealKeyVersion } = loaded.value;
    return { initialized: true, sealed: false, clusterId, sealKeyVersion };
  }
  return { initialized: loaded.error.code !== "uninitialized", sealed: true, clusterId: "", sealKeyVersion: 0 };
}
