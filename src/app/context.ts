import type { Context, MiddlewareHandler } from "hono";
import type { AuditRecord } from "../auth/audit-record.ts";
import type { Failure, Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import type { Dialect } from "../wire/dialect.ts";
import type { Reply } from "../wire/reply.ts";
import type { GroveRequest, RequestHead } from "../wire/request.ts";

/** The outcome of a request, for the response, the audit line and the metrics. */
export interface Answer {
  readonly result: Result<Reply>;
  /** Warnings about the input. Only a successful answer shows them. */
  readonly warnings: readonly string[];
  /** null when no endpoint serves the request, or none was looked for. */
  readonly endpoint: Endpoint | null;
}

/** The labels of an endpoint in metrics. They contain nothing that a client sent. */
export interface Endpoint {
  /** Full path with the names of its parameters. */
  readonly route: string;
  /** Path of its mount, with a slash at the end. */
  readonly mount: string;
  readonly isLogin: boolean;
}

/** The decision of the quotas about a request. */
export interface Admission {
  /** null for an admitted request. */
  readonly refusal: Failure | null;
  /** True when the limit depends on the role in the body. The request is not counted yet. */
  readonly byRole: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The context of a request. Each middleware sets variables for the ones after it, in the order of app.ts. Read a
 * variable with `c.get`: `c.var` copies all of them at each use.
 */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    /** The same in both audit lines, in the answer, and in the log of errors. */
    requestId: string;
    head: RequestHead;
    dialect: Dialect;
    answer: Answer;
    record: AuditRecord;
    /** Loaded once for the request. A failure while the service is sealed or not initialized. */
    installation: Result<Installation>;
    admission: Admission;
    request: GroveRequest;
  };
}

export type AppContext = Context<AppEnv>;
export type Middleware = MiddlewareHandler<AppEnv>;
