import { openInstallation } from "../../auth/initialize.ts";
import { jurisdictionProblem } from "../../base/location.ts";
import { sealKeyProblem } from "../../system/open-ring.ts";
import { refuse } from "../answer.ts";
import type { Middleware } from "../context.ts";

/** Refuses everything while a setting that the service needs is missing or wrong; then loads the installation. */
export const installation: Middleware = async (c, next) => {
  const problem = sealKeyProblem(c.env) ?? jurisdictionProblem(c.env);
  if (problem) return refuse(c, { code: "sealed", message: problem });
  c.set("installation", await openInstallation(c.env));
  await next();
};
