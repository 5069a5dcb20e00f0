import type { Context, Handler, MiddlewareHandler } from "hono";
import type { AuditRecord } from "../auth/audit-record.ts";
import type { Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import type { Dialect } from "../wire/dialect.ts";
import type { Reply } from "../wire/reply.ts";
import type { GroveRequest, RequestHead } from "../wire/request.ts";
import type { Admission } from "./rate-limit.ts";

/** What came of a request: for the response, the audit line and the metrics. */
export interface Answer {
  readonly result: Result<Reply>;
  /** About the input; only a successful answer has them. */
  readonly warnings: readonly string[];
  /** null when no endpoint serves the request, or it did not get that far. */
  readonly endpoint: Endpoint | null;
}

/** An endpoint as metrics name it: nothing in it comes from the client. */
export interface Endpoint {
  /** Full path with the names of its parameters. */
  readonly route: string;
  /** Path of its mount, with a slash at the end. */
  readonly mount: string;
  readonly isLogin: boolean;
}

/**
 * The context of a request. Middleware sets a variable for all that runs after it; app.ts has the order. Read one with `c.get`:
 * `c.var` copies all of them each time.
 */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    /** The same in both audit lines, in the answer, and in the log of errors. */
    requestId: string;
    head: RequestHead;
    dialect: Dialect;
    /** What came of the request so far. */
    answer: Answer;
    record: AuditRecord;
    /** Loaded once for the request. A failure while the service is sealed or not initialized. */
    installation: Result<Installation>;
    /** What the limits say about the request. */
    admission: Admission;
    request: GroveRequest;
  };
}

export type AppContext = Context<AppEnv>;
export type AppHandler = Handler<AppEnv>;
export type Middleware = MiddlewareHandler<AppEnv>;
