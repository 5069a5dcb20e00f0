import { JSON_API, servesJsonApi } from "../api/json-api/dialect.ts";
import type { Failure } from "../base/errors.ts";
import type { Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { renderFailure, renderReply } from "../wire/envelope.ts";
import type { Reply } from "../wire/reply.ts";
import { type GroveRequest, readPath, readRequest } from "../wire/request.ts";

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
