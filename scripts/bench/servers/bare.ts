import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { WorkerdServer } from "./workerd.ts";

const MODULE = "bare.js";

/** Starts the bare Worker, with the compatibility date of Grove's. */
export function startBare(directory: string, compatibilityDate: string): Promise<WorkerdServer> {
  const objects = join(directory, "objects");
  mkdirSync(objects, { recursive: true, mode: 0o700 });
  cpSync(join(import.meta.dirname, MODULE), join(directory, MODULE));
  const setup = {
    worker: {
      compatibilityDate,
      compatibilityFlags: [],
      classes: [{ className: "Cell", origin: "Cell", sqlite: true }],
      bindings: [{ kind: "objects", name: "CELL", className: "Cell" }],
      leftOut: [],
    },
    modules: [{ name: MODULE, kind: "esModule" }],
    objects,
    installationId: "bare",
  } as const;
  return WorkerdServer.start(directory, setup, {});
}
