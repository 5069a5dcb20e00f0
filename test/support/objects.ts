import type { DurableObject } from "cloudflare:workers";

/** The state of an object, from inside one of its methods that a test replaces. */
export function stateOf(object: DurableObject): DurableObjectState {
  return Reflect.get(object, "ctx");
}

/**
 * `method`, to stand in for one of an object that answers at once. Over RPC nobody can tell, but the types of the two differ.
 */
export function answeringLater<Method extends (...args: never[]) => unknown>(
  method: (...args: Parameters<Method>) => Promise<Awaited<ReturnType<Method>>>,
): Method {
  return method as unknown as Method;
}
