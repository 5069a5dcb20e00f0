import type { TreeDeployment } from "../../src/tree/deployment.ts";
import { bindings } from "./service.ts";

/** From now on the Worker and its objects run as in this deployment. An object keeps what it has read at its start. */
export function runAs(deployment: TreeDeployment): void {
  Object.assign(bindings, { deployment });
}
