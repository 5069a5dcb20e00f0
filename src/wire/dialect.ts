import type { Failure, Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Reply } from "./reply.ts";
import type { GroveRequest, RequestHead } from "./request.ts";

/** A dialect: how requests are read and answers are rendered. All routes are independent of it. */
export interface Dialect {
  readonly readRequest: (request: Request, head: RequestHead, env: Env, id: string) => Promise<Result<GroveRequest>>;
  readonly renderReply: (requestId: string, reply: Reply, warnings: readonly string[]) => Response;
  readonly renderFailure: (failure: Failure) => Response;
}
