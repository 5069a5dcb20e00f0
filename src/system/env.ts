import type { Deployment } from "../base/deployment.ts";
import type { System } from "./system.ts";

/** The bindings and settings that the installation uses. */
export interface SystemEnv {
  readonly deployment: Deployment;
  readonly SYSTEM: DurableObjectNamespace<System>;
  /** `<version>:<base64 of 32 bytes>`; wraps the key ring. A secret. */
  readonly GROVE_SEAL_KEY?: string;
  /** The seal key before the last rotation, until the key ring has been wrapped again. A secret. */
  readonly GROVE_SEAL_KEY_PREVIOUS?: string;
  /** Maximum age of an isolate's copy of policies, mounts and keys. */
  readonly POLICY_CACHE_SECONDS?: string;
  /** Additional age of the copies while the System object does not answer; 0: none. */
  readonly POLICY_GRACE_SECONDS?: string;
  /** Cloudflare jurisdiction of all objects (`eu`, …); empty: none. Never changes once there is an installation. */
  readonly JURISDICTION?: string;
}
