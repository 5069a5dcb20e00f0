import type { GroveRequest } from "../../wire/request.ts";
import { operationOf } from "../../wire/request.ts";
import { refuse } from "../answer.ts";
import type { AppContext, Middleware } from "../context.ts";
import { ADMITTED, type Admission, admit, admitByRole } from "../rate-limit.ts";

/** Counts a request before its body is read: a refused one costs next to nothing. */
export const limitRequests: Middleware = async (c, next) => {
  const head = c.get("head");
  const { path, clientAddress } = head;
  const counted = path.ok && { operation: operationOf(head), path: path.value, clientAddress };
  const admission = counted ? await admit(c.env, c.get("installation"), counted) : ADMITTED;
  if (admission.refusal) return withLimits(refuse(c, admission.refusal), admission);
  c.set("admission", admission);
  await next();
};

/** Counts a login whose limit depends on the role in its body. Returns the refusal, if it is one too many. */
export async function limitRole(c: AppContext, request: GroveRequest): Promise<Response | null> {
  const admission = await admitByRole(c.env, c.get("installation"), request, request.data.role);
  c.set("admission", admission);
  return admission.refusal && withLimits(refuse(c, admission.refusal), admission);
}

/** States the limit of a request in its answer, where the quotas say so. */
export function withLimits(response: Response, { headers }: Admission): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}
