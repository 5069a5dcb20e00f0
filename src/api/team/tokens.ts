import type { Caller } from "../../auth/caller.ts";
import { type Answered, type CallContext, type Route, tokenRoute, withParameters } from "../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { auditTeamToken } from "../../auth/team-caller.ts";
import { currentTime } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { err, NOT_FOUND, ok, type Result } from "../../base/result.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { openText, sealText } from "../../crypto/sealed-data.ts";
import { ALREADY_ROTATED, NO_ORGANIZATION } from "../../team/failures.ts";
import { organizationNamed, teamAt } from "../../team/find.ts";
import { newTeamToken, newTokenId, readTeamId, readTokenId, userIdOf } from "../../team/ids.ts";
import { readTokenOrder, TOKEN_SORTS } from "../../team/listed-tokens.ts";
import type { Author } from "../../team/record.ts";
import { type Expiry, readExpiry } from "../../team/rules/lifetime.ts";
import { descriptionProblem } from "../../team/rules/name.ts";
import { exact, exactString, oneOf } from "../../wire/exact-fields.ts";
import { ANY_FIELDS, fieldSchema, isObject, readValues, sent, strictSchema, type Values } from "../../wire/fields.ts";
import { EMPTY } from "../../wire/reply.ts";
import {
  bareRoute,
  documentReply,
  documentRoute,
  listRoute,
  pageReply,
  pageShape,
  refused,
  SEARCH_FIELD,
} from "../json-api/routes.ts";
import { LISTED_TOKEN_VIEW, TOKEN_VIEW } from "./render.ts";

/** The caller as the author of what it makes: a team, or the user that stands for its entity or its display name. */
export async function authorOf(keys: Keys, caller: Caller): Promise<Author> {
  if (caller.kind === "team") return { type: "teams", id: caller.team.teamId, name: caller.team.name };
  const { entityId, displayName } = caller.record;
  const identity = entityId === "" ? `name\0${displayName}` : `entity\0${entityId}`;
  return { type: "users", id: await userIdOf(keys, identity), name: displayName };
}

/** The types that documents about a token may have. */
const TOKEN_TYPES = ["authentication-token", "authentication-tokens"];

/** Where a token is. */
interface TokenPlace {
  /** Of its team; null when the id is of neither a token nor a team. */
  readonly route: string | null;
  /** "" for the token of the team that has no description. */
  readonly tokenId: string;
}

/** The token of the id in a path, which is its own or its team's. */
async function readEitherId({ installation, params }: CallContext): Promise<TokenPlace> {
  const id = params.id ?? "";
  const route = await readTokenId(installation.keys, id);
  if (route !== null) return { route, tokenId: id };
  return { route: await readTeamId(installation.keys, id), tokenId: "" };
}

// Other attributes are refused: a misspelt expiry that was ignored would make a token that never ends.
const EXPIRY = {
  "expired-at": exact("string | null", (value) => readExpiry(value, currentTime())).describe(
    "When the token ends, as RFC 3339; never unless sent and the organization says nothing",
  ),
};

/** The attributes of the token without a description. */
const UNDESCRIBED = strictSchema({
  ...EXPIRY,
  description: exact("any", (value = null) =>
    value === null ? ok(null) : err("must be null: tokens with a description are made at authentication-tokens"),
  ).describe("Must be null: tokens with a description are made at `authentication-tokens`"),
});

/** The attributes of one of several tokens. */
const DESCRIBED = strictSchema({
  ...EXPIRY,
  description: exactString("must be a string", descriptionProblem).describe(
    "What no other token of the team is called",
  ),
});

/** The attributes of a new token. */
interface TokenAttributes {
  readonly "expired-at": Expiry;
  readonly description: string | null;
}

/** The tokens of a team: by the team the one without a description, all by their own ids. */
export const TEAM_TOKEN_ROUTES: readonly Route[] = withParameters(
  { id: "The id of the token, or of a team for its token without a description" },
  [
    documentRoute("update", "teams/:team/authentication-token", {
      summary: "Makes the token of a team that has no description, in the place of the one before.",
      operationId: "teams-create-token",
      answers: plainAnswer({ data: TOKEN_VIEW.shape }, 201),
      types: TOKEN_TYPES,
      attributes: UNDESCRIBED,
      handle: create,
    }),
    documentRoute("update", "teams/:team/authentication-tokens", {
      summary: "Makes another token of a team.",
      operationId: "teams-create-described-token",
      answers: plainAnswer({ data: TOKEN_VIEW.shape }, 201),
      types: TOKEN_TYPES,
      attributes: DESCRIBED,
      handle: create,
    }),
    bareRoute("read", "teams/:team/authentication-token", {
      summary: "Shows the token of a team that has no description.",
      operationId: "teams-read-token-of-team",
      answers: plainAnswer({ data: TOKEN_VIEW.shape }),
      handle: async (context) => show(context, await unnamedTokenOf(context)),
    }),
    bareRoute("delete", "teams/:team/authentication-token", {
      summary: "Deletes the token of a team that has no description.",
      operationId: "teams-delete-token-of-team",
      answers: NO_CONTENT,
      handle: async (context) => remove(context, await unnamedTokenOf(context)),
    }),
    // An id of a team stands for its token without a description.
    bareRoute("read", "authentication-tokens/:id", {
      summary: "Shows a token of a team.",
      operationId: "teams-read-token",
      answers: plainAnswer({ data: TOKEN_VIEW.shape }),
      handle: async (context) => show(context, await readEitherId(context)),
    }),
    bareRoute("delete", "authentication-tokens/:id", {
      summary: "Deletes a token of a team.",
      operationId: "teams-delete-token",
      answers: NO_CONTENT,
      handle: async (context) => remove(context, await readEitherId(context)),
    }),
  ],
);

/** The token without a description of the team that the path names. */
async function unnamedTokenOf({ installation, params }: CallContext): Promise<TokenPlace> {
  return { route: await readTeamId(installation.keys, params.team ?? ""), tokenId: "" };
}

async function create(context: CallContext<unknown, TokenAttributes>): Answered {
  const { env, installation, request, params, caller, prepared } = context;
  const { keys } = installation;
  const route = await readTeamId(keys, params.team ?? "");
  if (route === null) return NOT_FOUND;
  const { text, verifier } = await newTeamToken(keys, route);
  const added = await teamAt(env, route).addToken({
    tokenId: await newTokenId(keys, route),
    createdAt: currentTime(),
    createdBy: await authorOf(keys, caller),
    ...prepared["expired-at"],
    description: prepared.description,
    lastUsedAt: null,
    verifier,
  });
  if (!added.ok) return added;
  request.notes.issuedTeamToken = auditTeamToken(added.value);
  return documentReply(TOKEN_VIEW.show({ ...added.value, text }), 201);
}

async function show({ env, request }: CallContext, { route, tokenId }: TokenPlace): Answered {
  const found = route === null ? null : await teamAt(env, route).token(tokenId);
  if (!found) return NOT_FOUND;
  request.notes.targetAccessor = found.token.tokenId;
  return documentReply(TOKEN_VIEW.show({ ...found, text: null }));
}

async function remove({ env, request }: CallContext, { route, tokenId }: TokenPlace): Answered {
  const removed = route === null ? null : await teamAt(env, route).removeToken(tokenId);
  if (removed === null) return NOT_FOUND;
  request.notes.targetAccessor = removed;
  return ok(EMPTY);
}

/** 30 days. */
const MAX_OVERLAP_SECONDS = 2_592_000;

const ATTRIBUTES = strictSchema({
  "overlap-seconds": exact("integer", (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_OVERLAP_SECONDS
      ? ok(value)
      : err(`must be a whole number of seconds from 0 to ${MAX_OVERLAP_SECONDS}`),
  ).describe("How long the old token stays good, 0 to 2,592,000"),
  "expired-at": exact("string | null", (value) => readExpiry(value, currentTime())).describe(
    "When the new token ends, as RFC 3339",
  ),
  "idempotency-key": sent(
    exactString("must be 16 to 128 printable characters", (key) =>
      /^[\x20-\x7e]{16,128}$/.test(key) ? null : "must be 16 to 128 printable characters",
    ),
  ).describe("A repeat with the same key gets the same token for a day"),
});
type Attributes = Values<typeof ATTRIBUTES>;

/** Rotation: a new token at once, and the old one good until the end of an overlap. */
export const ROTATION_ROUTES: readonly Route[] = [
  documentRoute("update", "authentication-tokens/:id/actions/rotate", {
    summary: "Makes a new token in the place of an old one, which stays good until the end of an overlap.",
    operationId: "teams-rotate-token",
    parameters: { id: "The id of the token" },
    answers: plainAnswer({ data: TOKEN_VIEW.shape }, 201),
    types: TOKEN_TYPES,
    attributes: ATTRIBUTES,
    handle: rotate,
  }),
];

/**
 * A repeat of a request with an idempotency key gets the same token: its text was sealed, in a way that opens for the same
 * key and attributes only, and is kept for a day.
 */
async function rotate(context: CallContext<unknown, Attributes>): Answered {
  const { env, installation, request, params, caller, prepared: attributes } = context;
  const { keys } = installation;
  const { route, tokenId } = await readEitherId(context);
  // With the id of the team a repeat would rotate the token that took over.
  if (route === null || tokenId === "") return NOT_FOUND;
  const { text, verifier } = await newTeamToken(keys, route);
  const sealedFor = replayContext(params.id ?? "", attributes);
  const rotated = await teamAt(env, route).rotateToken(tokenId, {
    token: {
      tokenId: await newTokenId(keys, route),
      // The team gives it the description of the old token.
      description: null,
      createdAt: currentTime(),
      createdBy: await authorOf(keys, caller),
      ...attributes["expired-at"],
      lastUsedAt: null,
      verifier,
    },
    overlapMs: attributes["overlap-seconds"] * 1000,
    replay: sealedFor === null ? null : await sealText(keys, sealedFor, text),
  });
  if (!rotated.ok) return rotated;
  request.notes.targetAccessor = tokenId;
  request.notes.issuedTeamToken = auditTeamToken(rotated.value);
  const { replay } = rotated.value;
  if (replay === null) return documentReply(TOKEN_VIEW.show({ ...rotated.value, text }), 201);
  const replayed = sealedFor === null ? null : await openText(keys, sealedFor, replay);
  if (replayed === null) return err(ALREADY_ROTATED);
  return documentReply(TOKEN_VIEW.show({ ...rotated.value, text: replayed }), 201);
}

/** What the text of the new token is sealed for; null for a request that can't be repeated. */
function replayContext(id: string, attributes: Attributes): string | null {
  const key = attributes["idempotency-key"];
  if (key === undefined) return null;
  const request = [id, key, attributes["overlap-seconds"], attributes["expired-at"].expiredAt];
  return `rotation of a team token ${JSON.stringify(request)}`;
}

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
