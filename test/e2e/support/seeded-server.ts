import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plantForest } from "../../../scripts/bench/cases/planted-forest.ts";
import { buildGrove } from "../../../scripts/bench/servers/grove.ts";
import { type RunningServer, startServe } from "./server.ts";

/** Starts `npm run serve` on an installation that has a forest already. */
export async function startSeededServer(trees: number, tokens: number): Promise<RunningServer> {
  const directory = await mkdtemp(join(tmpdir(), "grove-e2e-"));
  const build = await buildGrove(directory);
  const { directory: data } = await plantForest({ build, directory, say: () => {} }, trees, tokens);
  await writeFile(join(data, "installation-id"), build.installationId);
  const server = await startServe({
    data,
    env: {
      GROVE_SEAL_KEY: build.settings.GROVE_SEAL_KEY ?? "",
      GROVE_DEV_ROOT_TOKEN: await readFile(join(data, "root-token"), "utf8"),
    },
  });
  return {
    ...server,
    async stop() {
      const code = await server.stop();
      await rm(directory, { recursive: true, force: true });
      return code;
    },
  };
}
