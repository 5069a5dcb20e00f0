import type { System } from "./system.ts";

/** The bindings and settings that the installation uses. */
export interface SystemEnv {
  readonly SYSTEM: DurableObjectNamespace<System>;
  /** `<version>:<base64 of 32 bytes>`; wraps the key ring. A secret. */
  readonly GROVE_SEAL_KEY?: string;
  /** The seal key before the last rotation, until the key ring has been wrapped again. A secret. */
  readonly GROVE_SEAL_KEY_PREVIOUS?: string;
  /** Seconds that an isolate works with the policies, mounts and keys that it read last. */
  readonly POLICY_CACHE_SECONDS?: string;
  /** Further seconds for which the copies are used while the system object does not answer; 0: none. */
  readonly POLICY_GRACE_SECONDS?: string;
  /** Where Cloudflare keeps and runs all objects (`eu`, …); empty: anywhere. Never changes once there is an installation. */
  readonly JURISDICTION?: string;
}
