import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import project from "../../../package.json" with { type: "json" };
import { packRelease } from "./two-releases.ts";

// Run by hand for each release: `node test/e2e/support/store-release.ts`. The next release is tested beside what this stores.
const directory = await mkdtemp(join(tmpdir(), "grove-release-"));
const archive = join(import.meta.dirname, `../../data/releases/${project.version}.json.gz`);
await packRelease(join(directory, "worker"), archive);
await rm(directory, { recursive: true, force: true });
console.log(archive);
