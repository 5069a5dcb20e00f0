import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plantForest } from "../../../bench/seed/forest.ts";
import { newSecrets } from "../../../bench/servers/serve.ts";
import { type RunningServer, startServe } from "./server.ts";

/** Starts `npm run serve` on an installation that has a forest already. */
export async function startSeededServer(trees: number, tokens: number): Promise<RunningServer> {
  const data = await mkdtemp(join(tmpdir(), "grove-e2e-"));
  const secrets = newSecrets();
  await plantForest(data, secrets, { trees, tokens });
  const server = await startServe({ data, env: { ...secrets } });
  return {
    ...server,
    async stop() {
      const code = await server.stop();
      await rm(data, { recursive: true, force: true });
      return code;
    },
  };
}
