import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeCloud } from "../../support/fake-cloud/fake-cloud.ts";
import { serveCloud } from "../../support/fake-cloud/server.ts";
import { startServe } from "./server.ts";
import { fillInstallation, packInstallation, sender } from "./stored-installation.ts";

// Run by hand before a release that changes what is stored: `node test/e2e/support/store-installation.ts 1.1.0`.
const version = process.argv[2];
if (version === undefined || !/^\d+\.\d+\.\d+(-rc\.\d+)?$/.test(version)) {
  throw new Error("say the version, such as 1.1.0 or 1.1.0-rc.1");
}

const data = await mkdtemp(join(tmpdir(), "grove-store-"));
const cloud = new FakeCloud();
const cloudServer = await serveCloud(cloud);
const sealKey = `1:${Buffer.alloc(32, 7).toString("base64")}`;
const env = {
  GROVE_SEAL_KEY: sealKey,
  GROVE_DEV_ROOT_TOKEN: "root-of-the-stored-installation",
};
const server = await startServe({ data, env, flags: ["--allow-private-host=127.0.0.1"] });
const cloudEndpoint = cloudServer.endpoint;
const facts = await fillInstallation(sender(server.address), {
  rootToken: server.rootToken,
  sealKey,
  cloud,
  cloudEndpoint,
});
await server.stop();
await cloudServer.close();
const archive = join(import.meta.dirname, `../../data/installations/${version}.json.gz`);
await packInstallation(data, facts, archive);
await rm(data, { recursive: true, force: true });
console.log(archive);
