import type { Context, MiddlewareHandler } from "hono";
import { type AuthorizeOptions, authorize } from "./index.ts";
import type { Allowed, TokenAuthorityBinding } from "./types.ts";

/** Context variables behind `protect`. `c.get("grove").holder` is the caller. */
export interface GroveVariables {
  readonly grove: Allowed;
}

/**
 * Middleware that passes a request if the policies of its token allow it, and otherwise answers 401, 403, 400 or 503.
 *
 * @param binding returns the service binding to Grove's entrypoint `TokenAuthority`
 * @param options how the request is read; a function if that depends on the request
 */
export function protect<B extends object = object>(
  binding: (env: B) => Pick<TokenAuthorityBinding, "authorize">,
  options: AuthorizeOptions | ((context: Context) => AuthorizeOptions) = {},
): MiddlewareHandler<{ Bindings: B; Variables: GroveVariables }> {
  return async (context, next) => {
    const read = typeof options === "function" ? options(context) : options;
    const decision = await authorize(binding(context.env), context.req.raw, read);
    if (!decision.allowed) return decision.response;
    context.set("grove", decision);
    await next();
  };
}
