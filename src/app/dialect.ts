import { JSON_API, servesJsonApi } from "../api/json-api/dialect.ts";
import type { Dialect } from "../wire/dialect.ts";
import { renderFailure, renderReply } from "../wire/envelope.ts";
import { type RequestHead, readRequest } from "../wire/request.ts";

const VAULT: Dialect = { readRequest, renderReply, renderFailure };

/** The dialect of a path: JSON:API where teams and organizations are, Vault's elsewhere. */
export function dialectOf({ path }: RequestHead): Dialect {
  return path.ok && servesJsonApi(path.value) ? JSON_API : VAULT;
}
