import type { Middleware } from "../context.ts";

/**
 * Makes an Error of anything else that is thrown. Hono gives Errors alone to `onError`: the rest would end the request without an
 * answer in our form and without its last audit line.
 */
export const faults: Middleware = async (_, next) => {
  try {
    await next();
  } catch (thrown) {
    throw thrown instanceof Error ? thrown : new Error("what was thrown is not an Error");
  }
};
