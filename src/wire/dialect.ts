import type { Failure, Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Reply } from "./reply.ts";
import type { GroveRequest, RequestHead } from "./request.ts";
import type { Shape } from "./view.ts";

/** How requests are read and answers are rendered. Routes are independent of it. */
export interface Dialect {
  readRequest(request: Request, head: RequestHead, env: Env, id: string): Promise<Result<GroveRequest>>;
  renderReply(requestId: string, reply: Reply, warnings: readonly string[]): Response;
  renderFailure(failure: Failure): Response;
  /** False when its clients slow down permanently once an answer names a limit. */
  readonly namesLimits: boolean;
  readonly described: DescribedDialect;
}

/** The part of a dialect in the OpenAPI document. */
interface DescribedDialect {
  readonly mediaType: string;
  readonly patchType: string;
  readonly base: string;
  /** The tag of its operations; null: that of the first segment of their path. */
  readonly tag: string | null;
  /** The beginning of the names of its components. */
  readonly prefix: string;
  readonly refusal: Shape;
  /** Statuses of refusals, by the operations that have them. */
  readonly statuses: Readonly<Record<"all" | "withToken" | "writes", readonly string[]>>;
  /** True when a deletion reads its query. */
  readonly queriesDeletions: boolean;
  /** Returns the schema of the body of a write, by that of its fields. */
  bodyOf(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
}
