import type { Deployment } from "../base/deployment.ts";
import type { KnownTokens } from "./known-tokens.ts";

/** What depends on where trees run. */
export interface TreeDeployment extends Deployment {
  readonly knownTokens: KnownTokens;
  /**
   * True when an empty tree keeps its file, and a shard allocates its id again. The next login then neither creates a
   * file nor waits for the disk as a new object does, and the number of files is bounded. On Cloudflare's network an
   * object without storage costs nothing, and a new tree is near its client.
   */
  readonly reusesTrees: boolean;
}
