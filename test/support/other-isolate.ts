import type { Env } from "../../src/env.ts";
import grove from "../../src/index.ts";
import { TIME_HEADER } from "./time-header.ts";

// The runner can't keep the lines of this isolate until a test fails.
for (const method of ["debug", "error", "info", "log", "warn"] as const) console[method] = () => {};

/**
 * Grove in an isolate of its own, before the objects of the tests (vitest.config.ts), so that it has its own copies of what
 * they hold. The time there is that of the last request.
 */
export default {
  fetch(request: Request, env: Env, context: ExecutionContext): Response | Promise<Response> {
    const now = Number(request.headers.get(TIME_HEADER));
    Date.now = () => now;
    return grove.fetch(request, env, context);
  },
};
