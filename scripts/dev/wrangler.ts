import { join } from "node:path";
import { Child } from "../local/child.ts";
import type { DataDirectory } from "../local/data-directory.ts";
import { PROJECT } from "../local/worker-definition.ts";
import { WRANGLER_ENVIRONMENT, wranglerProgram } from "../local/wrangler.ts";

/** Starts `wrangler dev` on a free port of the loopback address. */
export function startWrangler(data: DataDirectory): Child {
  return new Child({
    command: process.execPath,
    args: [
      wranglerProgram(),
      "dev",
      "--config",
      join(PROJECT, "wrangler.toml"),
      "--local",
      "--ip=127.0.0.1",
      "--port=0",
      "--inspector-ip=127.0.0.1",
      "--inspector-port=0",
      "--persist-to",
      data.file("state"),
      "--env-file",
      data.file("environment"),
      "--show-interactive-dev-session=false",
    ],
    env: {
      ...process.env,
      ...WRANGLER_ENVIRONMENT,
      // No request to the network at start, and no page that shows the stored data to every client that reaches the port.
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      X_LOCAL_EXPLORER: "false",
      X_LOCAL_OBSERVABILITY: "false",
    },
    output: "pipe",
  });
}
