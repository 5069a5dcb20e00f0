import { type Answered, type CallContext, type Route, tokenRoute } from "../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { inGroups } from "../../base/parallel.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { NO_ORGANIZATION } from "../../team/failures.ts";
import { organizationNamed, teamAt } from "../../team/find.ts";
import { readTokenId } from "../../team/ids.ts";
import { readTokenOrder, TOKEN_SORTS } from "../../team/listed-tokens.ts";
import { exact, exactString, oneOf } from "../../wire/exact-fields.ts";
import { ANY_FIELDS, fieldSchema, isObject, readValues } from "../../wire/fields.ts";
import { EMPTY } from "../../wire/reply.ts";
import { pageReply, pageShape, SEARCH_FIELD } from "../json-api/page.ts";
import { listRoute, refused } from "../json-api/routes.ts";
import { LISTED_TOKEN_VIEW } from "./render.ts";

/** Tokens that one request deletes. */
const MAX_DELETED = 100;
const DELETED = `data must be a list of 1 to ${MAX_DELETED} authentication-tokens with their ids`;

/** A token to delete. */
const IDENTIFIER = fieldSchema({
  type: oneOf(["authentication-tokens", "team-tokens"], DELETED),
  id: exactString(DELETED),
});

const LIST_FIELDS = fieldSchema({
  ...SEARCH_FIELD,
  sort: exact("string", (value) => {
    const order = readTokenOrder(typeof value === "string" ? value : undefined);
    return order ? ok(order) : err(`must be one of ${TOKEN_SORTS.join(", ")}, or one with - before it`);
  }).describe("`team-name`, `created-by`, `expired-at` or `last-used-at`, with `-` before it for the reverse order"),
});

/** The tokens of all teams of an organization. */
export const TOKEN_LIST_ROUTES: readonly Route[] = [
  listRoute("organizations/:organization/team-tokens", {
    summary: "Lists the tokens of all teams of an organization by page.",
    operationId: "teams-list-tokens",
    answers: plainAnswer(pageShape(LISTED_TOKEN_VIEW.shape)),
    own: LIST_FIELDS,
    handle: async (context) => {
      const name = context.params.organization ?? "";
      const { page, own } = context.prepared;
      const found = await organizationNamed(context.env, name).listTokens(name, page, own.sort, own.q);
      return found.ok ? pageReply(context, found.value, LISTED_TOKEN_VIEW.show) : found;
    },
  }),
  tokenRoute("delete", "organizations/:organization/team-tokens", {
    summary: "Deletes up to 100 tokens of teams, all or none.",
    operationId: "teams-delete-tokens",
    fields: { data: { shape: [{ type: "string", id: "string" }], description: "The tokens" } },
    answers: NO_CONTENT,
    input: ANY_FIELDS,
    prepare: async ({ fields }) => readIds(fields.data),
    handle: removeAll,
  }),
];

/** The ids that a document names, each once. */
function readIds(data: unknown): Result<readonly string[]> {
  if (!Array.isArray(data) || data.length < 1 || data.length > MAX_DELETED) return refused("/data", DELETED);
  const ids = new Set<string>();
  for (const item of data) {
    const read = isObject(item) ? readValues(IDENTIFIER, item) : null;
    if (!read?.ok) return refused("/data", DELETED);
    ids.add(read.value.id);
  }
  return ok([...ids]);
}

/**
 * Deletes tokens, all or none: each team is asked first whether it has them. After that nothing can refuse; should a team
 * not answer, the request can be repeated with those that are left.
 */
async function removeAll({
  env,
  installation,
  request,
  params,
  prepared: tokenIds,
}: CallContext<Record<string, unknown>, readonly string[]>): Answered {
  const name = params.organization ?? "";
  if (!(await organizationNamed(env, name).show(name))) return err(NO_ORGANIZATION);
  const byTeam = new Map<string, string[]>();
  const unknown: string[] = [];
  for (const tokenId of tokenIds) {
    const route = await readTokenId(installation.keys, tokenId);
    if (route === null) unknown.push(tokenId);
    else byTeam.set(route, [...(byTeam.get(route) ?? []), tokenId]);
  }
  await inGroups([...byTeam], async ([route, ids]) => {
    unknown.push(...(await teamAt(env, route).unknownTokens(name, ids)));
  });
  const first = tokenIds.findIndex((tokenId) => unknown.includes(tokenId));
  if (first >= 0) {
    const rest = unknown.length > 1 ? `, nor are ${unknown.length - 1} others` : "";
    return refused(`/data/${first}/id`, `id is not of a token of a team of this organization${rest}; none was deleted`);
  }
  request.notes.targetAccessors = tokenIds;
  await inGroups([...byTeam], ([route, ids]) => teamAt(env, route).removeTokens(name, ids));
  return ok(EMPTY);
}
