import { auditCaller } from "../../auth/caller.ts";
import { type Answered, type CallContext, type Route, tokenRoute, withParameters } from "../../auth/route.ts";
import { NO_CONTENT } from "../../auth/route-description.ts";
import { changedOnce } from "../../base/lost-call-retry.ts";
import { inGroups } from "../../base/parallel.ts";
import { err, NOT_FOUND, ok, type Result } from "../../base/result.ts";
import { openText, sealText } from "../../crypto/sealed-data.ts";
import { readTeamId, readTokenId } from "../../team/ids.ts";
import { descriptionProblem } from "../../team/rules/team-tokens.ts";
import { ALREADY_ROTATED } from "../../team/rules/token-lifetime.ts";
import { readTokenOrder, TOKEN_SORTS } from "../../team/rules/token-order.ts";
import { MAX_DELETED_TOKENS, teamAt } from "../../team/stubs.ts";
import { ANY_FIELDS, fieldSchema, readValues, strictSchema, type Values } from "../../wire/field-schema.ts";
import { isObject, sent } from "../../wire/fields.ts";
import { exact, exactString, oneOf } from "../../wire/json-type-fields.ts";
import { EMPTY } from "../../wire/reply.ts";
import {
  bareRoute,
  documentAnswer,
  documentReply,
  documentRoute,
  organizationIn,
  refused,
  resourceListRoute,
  SEARCH_FIELD,
} from "../json-api/routes.ts";
import { callerWith } from "./credential.ts";
import { authorOf, createdReply, EXPIRY, generate, NEW_TOKEN_FIELDS, removeToken, TOKEN_TYPES } from "./new-token.ts";
import { LISTED_TOKEN_VIEW, TOKEN_VIEW } from "./view.ts";

const UNDESCRIBED = strictSchema({
  ...NEW_TOKEN_FIELDS,
  description: exact("any", (value = null) =>
    value === null ? ok(null) : err("must be null: tokens with a description are made at authentication-tokens"),
  ).describe("Must be null"),
});

const DESCRIBED = strictSchema({
  ...NEW_TOKEN_FIELDS,
  description: exactString("must be a string", descriptionProblem).describe("Unique among the tokens of the team"),
});

/** 30 days. */
const MAX_OVERLAP_SECONDS = 2_592_000;

const ROTATION = strictSchema({
  "overlap-seconds": exact("integer", (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_OVERLAP_SECONDS
      ? ok(value)
      : err(`must be a whole number of seconds from 0 to ${MAX_OVERLAP_SECONDS}`),
  ).describe("Seconds of the overlap, 0 to 2,592,000"),
  "expired-at": EXPIRY.describe("When the new token expires (RFC 3339)"),
  "idempotency-key": sent(
    exactString("must be 16 to 128 printable characters", (key) =>
      /^[\x20-\x7e]{16,128}$/.test(key) ? null : "must be 16 to 128 printable characters",
    ),
  ).describe("A repeat with the same key within a day answers the same token"),
});

const DELETED = `data must be a list of 1 to ${MAX_DELETED_TOKENS} authentication-tokens with their ids`;

/** Clients that are generated from HCP Terraform's description, as go-tfe 2, send no type. */
const IDENTIFIER = fieldSchema({
  type: sent(oneOf(["authentication-tokens", "team-tokens"], DELETED)),
  id: exactString(DELETED),
});

const LIST_FIELDS = fieldSchema({
  ...SEARCH_FIELD,
  sort: exact("string", (value) => {
    const order = readTokenOrder(typeof value === "string" ? value : undefined);
    return order ? ok(order) : err(`must be one of ${TOKEN_SORTS.join(", ")}, or one with - before it`);
  }).describe("`team-name`, `created-by`, `expired-at` or `last-used-at`, with `-` before it for the reverse order"),
});

/** The tokens of teams. Every token has an id; the token without a description is also found by the id of its team. */
export const TEAM_TOKEN_ROUTES: readonly Route[] = withParameters(
  { id: "Id of a token, or of a team for its token without a description" },
  [
    documentRoute("update", "teams/:team/authentication-token", {
      summary: "Creates the team's token without a description and ends the previous one.",
      operationId: "teams-create-token",
      answers: documentAnswer(TOKEN_VIEW, 201),
      types: TOKEN_TYPES,
      attributes: UNDESCRIBED,
      handle: create,
    }),
    documentRoute("update", "teams/:team/authentication-tokens", {
      summary: "Creates a token of a team with a description.",
      operationId: "teams-create-described-token",
      answers: documentAnswer(TOKEN_VIEW, 201),
      types: TOKEN_TYPES,
      attributes: DESCRIBED,
      handle: create,
    }),
    bareRoute("read", "teams/:team/authentication-token", {
      summary: "Shows the token of a team without a description.",
      operationId: "teams-read-token-of-team",
      answers: documentAnswer(TOKEN_VIEW),
      handle: show,
    }),
    bareRoute("delete", "teams/:team/authentication-token", {
      summary: "Deletes the token of a team without a description.",
      operationId: "teams-delete-token-of-team",
      answers: NO_CONTENT,
      handle: remove,
    }),
    bareRoute("read", "authentication-tokens/:id", {
      summary: "Shows a token of a team.",
      operationId: "teams-read-token",
      answers: documentAnswer(TOKEN_VIEW),
      handle: show,
    }),
    bareRoute("delete", "authentication-tokens/:id", {
      summary: "Deletes a token of a team.",
      operationId: "teams-delete-token",
      answers: NO_CONTENT,
      handle: remove,
    }),
    documentRoute("update", "authentication-tokens/:id/actions/rotate", {
      summary: "Replaces a token; the old one stays valid for an overlap.",
      operationId: "teams-rotate-token",
      parameters: { id: "The id of the token" },
      answers: documentAnswer(TOKEN_VIEW, 201),
      types: TOKEN_TYPES,
      attributes: ROTATION,
      handle: rotate,
    }),
    resourceListRoute("organizations/:organization/team-tokens", {
      summary: "Lists the tokens of all teams of an organization by page.",
      operationId: "teams-list-tokens",
      view: LISTED_TOKEN_VIEW,
      own: LIST_FIELDS,
      find: async (context) => {
        const { name, organization } = organizationIn(context);
        const { page, own } = context.prepared;
        return organization.listTokens(name, page, own.sort, own.q);
      },
      showTo: () => LISTED_TOKEN_VIEW.show,
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
  ],
);

/** Reads the id in a path: of a token, or of its team (then the token id is ""). null for an id that was not made here. */
async function readPlace({ installation: { keys }, params }: CallContext) {
  const { id, team = "" } = params;
  const route = id === undefined ? null : await readTokenId(keys, id);
  if (id !== undefined && route !== null) return { route, tokenId: id };
  const teamRoute = await readTeamId(keys, id ?? team);
  return teamRoute === null ? null : { route: teamRoute, tokenId: "" };
}

async function create(context: CallContext<unknown, Values<typeof DESCRIBED | typeof UNDESCRIBED>>): Answered {
  const { env, installation, params, prepared } = context;
  const route = await readTeamId(installation.keys, params.team ?? "");
  if (route === null) return NOT_FOUND;
  const { text, token } = await generate(context, route, prepared["expired-at"]);
  const described = { ...token, description: prepared.description };
  const added = await changedOnce(env, (attempt) => teamAt(env, route).addToken(described, attempt));
  return added.ok ? createdReply(context, added.value, text) : added;
}

async function show(context: CallContext): Answered {
  const place = await readPlace(context);
  const found = place && (await teamAt(context.env, place.route).token(place.tokenId));
  if (!found) return NOT_FOUND;
  context.request.notes.targetAccessor = found.token.tokenId;
  return documentReply(TOKEN_VIEW.show({ ...found, text: null }));
}

async function remove(context: CallContext): Answered {
  const place = await readPlace(context);
  return place ? removeToken(context, place.route, place.tokenId) : NOT_FOUND;
}

/**
 * Rotates a token. The text of the new token is stored for a day, sealed for the idempotency key and the attributes. So a
 * repeat of the request gets the same token, and no other request does.
 */
async function rotate(context: CallContext<unknown, Values<typeof ROTATION>>): Answered {
  const { env, installation, request, prepared: attributes } = context;
  const { keys } = installation;
  const place = await readPlace(context);
  // The path must have a token id. A team id means its current token, so a repeated request would rotate the new token.
  if (!place || place.tokenId === "") return NOT_FOUND;
  const { route, tokenId } = place;
  const { text, token } = await generate(context, route, attributes["expired-at"]);
  const key = attributes["idempotency-key"];
  const sealed = [tokenId, key, attributes["overlap-seconds"], attributes["expired-at"].expiredAt];
  const sealedFor = key === undefined ? null : `rotation of a team token ${JSON.stringify(sealed)}`;
  const rotation = {
    token,
    overlapMs: attributes["overlap-seconds"] * 1000,
    replay: sealedFor === null ? null : await sealText(keys, sealedFor, text),
  };
  const rotated = await changedOnce(env, (attempt) => teamAt(env, route).rotateToken(tokenId, rotation, attempt));
  if (!rotated.ok) return rotated;
  request.notes.targetAccessor = tokenId;
  const { replay, ...created } = rotated.value;
  let shown: string | null = text;
  if (replay !== null) shown = sealedFor === null ? null : await openText(keys, sealedFor, replay);
  if (shown !== null) return createdReply(context, created, shown);
  request.notes.issuedToken = auditCaller(callerWith(created));
  return err(ALREADY_ROTATED);
}

function readIds(data: unknown): Result<readonly string[]> {
  if (!Array.isArray(data) || data.length < 1 || data.length > MAX_DELETED_TOKENS) return refused("/data", DELETED);
  const ids = new Set<string>();
  for (const item of data) {
    const read = isObject(item) ? readValues(IDENTIFIER, item) : null;
    if (!read?.ok) return refused("/data", DELETED);
    ids.add(read.value.id);
  }
  return ok([...ids]);
}

/**
 * Deletes tokens, all or none: first every team checks that it has them, and after that nothing is refused. If a team does
 * not answer, the client can repeat the request with the remaining tokens.
 */
async function removeAll(context: CallContext<Record<string, unknown>, readonly string[]>): Answered {
  const { env, installation, request, prepared: tokenIds } = context;
  const { name, organization } = organizationIn(context);
  if (!(await organization.show(name))) return NOT_FOUND;
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
  const by = await authorOf(installation.keys, context.caller);
  await inGroups([...byTeam], ([route, ids]) => teamAt(env, route).removeTokens(name, ids, by));
  return ok(EMPTY);
}
