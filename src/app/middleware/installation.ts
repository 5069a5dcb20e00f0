import { openInstallation } from "../../auth/initialize.ts";
import { jurisdictionProblem } from "../../base/location.ts";
import { sealKeyOf } from "../../system/open-ring.ts";
import { refuse } from "../answer.ts";
import type { Middleware } from "../context.ts";

/** Refuses everything while a setting that the service needs is missing or wrong; then loads the installation. */
export const installation: Middleware = async (c, next) => {
  const sealKey = sealKeyOf(c.env);
  const problem = sealKey.ok ? jurisdictionProblem(c.env) : sealKey.error;
  if (problem) return refuse(c, { code: "sealed", message: problem });
  c.set("installation", await openInstallation(c.env));
  await next();
};
