import type { GroveRequest } from "../wire/request.ts";
import type { Admission, AppContext, Middleware } from "./context.ts";
import { admit, admitByRole } from "./rate-limit.ts";
import { answerRefusal } from "./respond.ts";

/** Counts a request under its limit before the body is read, so that a refusal costs little. */
export const limitRequests: Middleware = async (c, next) => {
  const admission = await admit(c);
  c.set("admission", admission);
  if (!admission.refusal) return next();
  return withLimits(answerRefusal(c, admission.refusal), admission);
};

/** Counts a login whose limit depends on its role. `data`: null for an unreadable body, which counts as no role. */
export async function limitRole(c: AppContext, data: GroveRequest["data"] | null): Promise<Response | null> {
  if (!c.get("admission").byRole) return null;
  const admission = await admitByRole(c, data);
  c.set("admission", admission);
  return admission.refusal && withLimits(answerRefusal(c, admission.refusal), admission);
}

/** Adds the headers of a limit to a response. */
export function withLimits(response: Response, { headers }: Admission): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}
