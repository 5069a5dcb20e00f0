import { JSON_API, servesJsonApi } from "../../api/json-api/dialect.ts";
import { err } from "../../base/result.ts";
import { sweepThreads } from "../../base/turns/threads.ts";
import type { Dialect } from "../../wire/dialect.ts";
import { renderFailure, renderReply } from "../../wire/envelope.ts";
import { type RequestHead, readHead, readRequest } from "../../wire/request.ts";
import { UNANSWERED } from "../answer.ts";
import type { Middleware } from "../context.ts";

const VAULT: Dialect = { readRequest, renderReply, renderFailure };

/** The dialect of a path: JSON:API where teams and organizations are, Vault's elsewhere. */
function dialectOf({ path }: RequestHead): Dialect {
  return path.ok && servesJsonApi(path.value) ? JSON_API : VAULT;
}

/** The installation until it is loaded. */
const NOT_LOADED = err({ code: "uninitialized" } as const);

/**
 * Reads the head of a request and gives it an id. Sweeps that share its thread leave it more time from here on. A client that
 * disconnects does not stop its request: it is completed, and its last audit line is written.
 */
export const arrival: Middleware = async (c, next) => {
  sweepThreads().shared?.requestCame();
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
