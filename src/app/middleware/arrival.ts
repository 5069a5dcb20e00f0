import { err } from "../../base/result.ts";
import { readHead } from "../../wire/request.ts";
import { UNANSWERED } from "../answer.ts";
import type { Middleware } from "../context.ts";
import { dialectOf } from "../dialect.ts";

/** The installation until it is loaded. */
const NOT_LOADED = err({ code: "uninitialized" } as const);

/**
 * Reads the head of a request and gives it an id. A client that disconnects does not stop its request: it is completed, and its
 * last audit line is written.
 */
export const arrival: Middleware = async (c, next) => {
  const head = readHead(c.req.raw, c.env);
  c.set("requestId", crypto.randomUUID());
  c.set("head", head);
  c.set("dialect", dialectOf(head));
  c.set("answer", UNANSWERED);
  c.set("installation", NOT_LOADED);
  const completed = next();
  c.executionCtx.waitUntil(completed);
  await completed;
};
