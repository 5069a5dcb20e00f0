import { appendFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { copyProject } from "./support/copied-project.ts";
import { type RunningServer, startDev } from "./support/server.ts";

let copy: string;
let server: RunningServer;

beforeAll(async () => {
  copy = copyProject();
  server = await startDev({ project: copy });
});
afterAll(async () => {
  await server?.stop();
  await rm(copy, { recursive: true, force: true });
});

/** Wrangler may hold a request back until it has built: one that takes long is asked again. */
const health = async () => {
  const response = await fetch(`${server.address}/v1/sys/health`, { signal: AbortSignal.timeout(5_000) });
  return { status: response.status, body: await response.json() };
};

it("npm run dev answers with the build error while a source has a mistake, and serves again when it is mended", async () => {
  const file = join(copy, "src/index.ts");
  const good = await readFile(file, "utf8");
  await appendFile(file, "\nconst x = ;\n");
  await expect.poll(health).toMatchObject({
    status: 503,
    body: {
      errors: [expect.stringMatching(/^the Worker cannot be built: Unexpected ";" \(src\/index\.ts:\d+:\d+\)$/)],
    },
  });
  await writeFile(file, good);
  await expect.poll(health).toMatchObject({ status: 200 });
});
