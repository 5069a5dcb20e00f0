import type { LeaseEnv } from "../lease/env.ts";
import type { CustomIds } from "./custom-ids.ts";
import type { TreeDeployment } from "./deployment.ts";

/** The bindings and settings that token trees use. */
export interface TreeEnv extends LeaseEnv {
  readonly deployment: TreeDeployment;
  readonly CUSTOM_IDS: DurableObjectNamespace<CustomIds>;
  /** "false": the time of the last use is not kept for the inventory. */
  readonly TRACK_LAST_USE?: string;
}
