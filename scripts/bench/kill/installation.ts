import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readWorkerDefinition } from "../../local/worker-definition.ts";
import { workerModel } from "../../serve/worker.ts";
import { must } from "../must.ts";
import { type GroveBuild, objectsOf } from "../servers/grove.ts";

/** What the tools that work on the databases of a stopped server need to know of one that `npm run serve` runs. */
export async function installationOn(data: string): Promise<GroveBuild> {
  return {
    model: must(workerModel(must(await readWorkerDefinition()), [])),
    modules: [],
    directory: data,
    installationId: readFileSync(join(data, "installation-id"), "utf8").trim(),
    settings: {},
  };
}

/** The database files of all objects of a class. */
export function databasesOf(build: GroveBuild, data: string, className: string): string[] {
  const objects = objectsOf(build, data, className);
  return readdirSync(objects, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".sqlite"))
    .map(({ name }) => join(objects, name));
}
