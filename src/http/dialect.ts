import type { Env } from "../env.ts";
import type { Failure } from "../errors.ts";
import type { Result } from "../result.ts";
import { JSON_API, servesJsonApi } from "../team/json-api/dialect.ts";
import { renderFailure, renderReply } from "./envelope.ts";
import type { Reply } from "./reply.ts";
import { type GroveRequest, readPath, readRequest } from "./request.ts";

/** How requests are read and answers written. Everything between is the same for every route. */
export interface Dialect {
  readonly readRequest: (request: Request, env: Env, id: string) => Promise<Result<GroveRequest, Failure>>;
  readonly renderReply: (requestId: string, reply: Reply, warnings: readonly string[]) => Response;
  readonly renderFailure: (failure: Failure) => Response;
}

const VAULT: Dialect = { readRequest, renderReply, renderFailure };

/** The dialect of a path: JSON:API where teams and organizations are, Vault's elsewhere. */
export function dialectOf(url: URL): Dialect {
  const path = readPath(url);
  return path.ok && servesJsonApi(path.value) ? JSON_API : VAULT;
}
