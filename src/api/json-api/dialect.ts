import type { Dialect } from "../../wire/dialect.ts";
import { renderFailure, renderReply } from "./render.ts";
import { readRequest } from "./request.ts";

/** First segments of the paths of the interface of teams. */
export const TEAM_PLACES: ReadonlySet<string> = new Set([
  "account",
  "authentication-tokens",
  "organizations",
  "ping",
  "teams",
]);

/** The interface of teams speaks JSON:API 1.0, as its clients do. */
export const JSON_API: Dialect = { readRequest, renderReply, renderFailure };

/** True for paths (without the base path) of the interface of teams. */
export function servesJsonApi(path: string): boolean {
  const end = path.indexOf("/");
  return TEAM_PLACES.has(end < 0 ? path : path.slice(0, end));
}
