import { operationOf, readToken } from "../../wire/request.ts";
import { refuse } from "../answer.ts";
import type { AppContext, Middleware } from "../context.ts";
import { ADMITTED, type Admission, admit, admitByRole, type CountedRequest } from "../rate-limit.ts";
import { dropRefusedPart } from "./refused-part.ts";

/** Counts a request before its body is read: a refused one costs next to nothing. */
export const limitRequests: Middleware = async (c, next) => {
  const counted = countedOf(c);
  const admission = counted ? await admit(c.env, c.get("installation"), counted) : ADMITTED;
  if (admission.refusal) await dropRefusedPart(c);
  if (admission.refusal) return withLimits(refuse(c, admission.refusal), admission);
  c.set("admission", admission);
  await next();
};

/**
 * Counts a login whose limit depends on the role in its body.
 *
 * @param role as it was sent; null when the body can't be read, which is counted as a login without a role.
 * @returns the refusal, if it is one too many.
 */
export async function limitRole(c: AppContext, role: unknown): Promise<Response | null> {
  const counted = countedOf(c);
  const admission = counted ? await admitByRole(c.env, c.get("installation"), counted, role) : ADMITTED;
  c.set("admission", admission);
  return admission.refusal && withLimits(refuse(c, admission.refusal), admission);
}

/** The properties of a request that decide which limits count it; null when its path can't be read. */
function countedOf(c: AppContext): CountedRequest | null {
  const head = c.get("head");
  const { path, clientAddress } = head;
  const token = () => readToken(c.req.raw.headers);
  return path.ok ? { operation: operationOf(head), path: path.value, clientAddress, token } : null;
}

/** States the limit of a request in its answer, where the quotas say so. */
export function withLimits(response: Response, { headers }: Admission): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}
