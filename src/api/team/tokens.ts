import * as z from "zod";
import { type CallContext, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { auditTeamToken } from "../../auth/team-caller.ts";
import { currentTime } from "../../base/clock.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { teamAt } from "../../team/find.ts";
import { newTeamToken, newTokenId, readTeamId } from "../../team/ids.ts";
import { descriptionProblem } from "../../team/rules/description.ts";
import { type Expiry, readExpiry } from "../../team/rules/expiry.ts";
import { ANY_FIELDS } from "../../wire/fields.ts";
import { EMPTY, type Reply } from "../../wire/reply.ts";
import { readResource, refused } from "../json-api/document.ts";
import { authorOf } from "./author.ts";
import { TOKEN_SHAPE, tokenResource } from "./render.ts";
import { readEitherId, TOKEN_TYPES } from "./token-id.ts";

/** Other attributes are refused: a misspelt expiry that was ignored would make a token that never ends. */
const ONLY_THESE = {
  error: (issue: { readonly code: string }) =>
    issue.code === "unrecognized_keys" ? "can only be expired-at and description" : undefined,
};

/** The attributes of the token without a description. */
const UNDESCRIBED = z.strictObject(
  {
    "expired-at": z.unknown().optional(),
    description: z.null("must be null: tokens with a description are made at authentication-tokens").optional(),
  },
  ONLY_THESE,
);

/** The attributes of one of several tokens. */
const DESCRIBED = z.strictObject({ "expired-at": z.unknown().optional(), description: z.unknown() }, ONLY_THESE);

const NOT_FOUND = err({ code: "not_found" } as const);

/** What a client says about a new token. */
interface TokenOptions extends Expiry {
  readonly description: string | null;
}

const TEAM = { team: "The id of the team" };
const TOKEN = { id: "The id of the token, or of a team for its token without a description" };

/** The tokens of a team: by the team the one without a description, all by their own ids. */
export const TEAM_TOKEN_ROUTES: readonly Route[] = [
  tokenRoute(
    "update",
    "teams/:team/authentication-token",
    {
      summary: "Makes the token of a team that has no description, in the place of the one before.",
      operationId: "teams-create-token",
      parameters: TEAM,
      fields: {
        "expired-at": {
          shape: "string | null",
          description: "When the token ends, as RFC 3339; never unless sent and the organization says nothing",
        },
        description: {
          shape: "any",
          description: "Must be null: tokens with a description are made at `authentication-tokens`",
        },
      },
      answers: plainAnswer({ data: TOKEN_SHAPE }, 201),
    },
    ANY_FIELDS,
    {
      prepare: async ({ request, fields }) => readOptions(request.resourceType, fields, UNDESCRIBED),
      handle: create,
    },
  ),

  tokenRoute(
    "update",
    "teams/:team/authentication-tokens",
    {
      summary: "Makes another token of a team.",
      operationId: "teams-create-described-token",
      parameters: TEAM,
      fields: {
        "expired-at": {
          shape: "string | null",
          description: "When the token ends, as RFC 3339; never unless sent and the organization says nothing",
        },
        description: { shape: "string", description: "What no other token of the team is called" },
      },
      answers: plainAnswer({ data: TOKEN_SHAPE }, 201),
    },
    ANY_FIELDS,
    {
      async prepare({ request, fields }) {
        const problem = descriptionProblem(fields.description);
        if (problem) return refused("/data/attributes/description", `description ${problem}`);
        return readOptions(request.resourceType, fields, DESCRIBED);
      },
      handle: create,
    },
  ),

  simpleRoute(
    "read",
    "teams/:team/authentication-token",
    {
      summary: "Shows the token of a team that has no description.",
      operationId: "teams-read-token-of-team",
      parameters: TEAM,
      fields: {},
      answers: plainAnswer({ data: TOKEN_SHAPE }),
    },
    ANY_FIELDS,
    async (context) => {
      const route = await readTeamId(context.installation.keys, context.params.team ?? "");
      return show(context, route, "");
    },
  ),

  simpleRoute(
    "delete",
    "teams/:team/authentication-token",
    {
      summary: "Deletes the token of a team that has no description.",
      operationId: "teams-delete-token-of-team",
      parameters: TEAM,
      fields: {},
      answers: NO_CONTENT,
    },
    ANY_FIELDS,
    async (context) => {
      const route = await readTeamId(context.installation.keys, context.params.team ?? "");
      return remove(context, route, "");
    },
  ),

  // An id of a team stands for its token without a description.
  simpleRoute(
    "read",
    "authentication-tokens/:id",
    {
      summary: "Shows a token of a team.",
      operationId: "teams-read-token",
      parameters: TOKEN,
      fields: {},
      answers: plainAnswer({ data: TOKEN_SHAPE }),
    },
    ANY_FIELDS,
    async (context) => {
      const { route, tokenId } = await readEitherId(context);
      return show(context, route, tokenId);
    },
  ),

  simpleRoute(
    "delete",
    "authentication-tokens/:id",
    {
      summary: "Deletes a token of a team.",
      operationId: "teams-delete-token",
      parameters: TOKEN,
      fields: {},
      answers: NO_CONTENT,
    },
    ANY_FIELDS,
    async (context) => {
      const { route, tokenId } = await readEitherId(context);
      return remove(context, route, tokenId);
    },
  ),
];

type AnyCall = Pick<CallContext<unknown, unknown>, "env" | "installation" | "request" | "params">;

function readOptions(
  type: string | null,
  attributes: Readonly<Record<string, unknown>>,
  schema: typeof DESCRIBED | typeof UNDESCRIBED,
): Result<TokenOptions, Failure> {
  const read = readResource<z.infer<typeof DESCRIBED> | z.infer<typeof UNDESCRIBED>>(
    { type, attributes },
    TOKEN_TYPES,
    schema,
  );
  if (!read.ok) return read;
  const { description } = read.value;
  const expiry = readExpiry(read.value["expired-at"], currentTime());
  if (!expiry.ok) return refused("/data/attributes/expired-at", `expired-at ${expiry.error}`);
  return ok({ ...expiry.value, description: typeof description === "string" ? description : null });
}

async function create(context: CallContext<Record<string, unknown>, TokenOptions>): Promise<Result<Reply, Failure>> {
  const { env, installation, request, params, caller, prepared: options } = context;
  const { keys } = installation;
  const route = await readTeamId(keys, params.team ?? "");
  if (route === null) return NOT_FOUND;
  const { text, verifier } = await newTeamToken(keys, route);
  const added = await teamAt(env, route).addToken({
    tokenId: await newTokenId(keys, route),
    createdAt: currentTime(),
    createdBy: await authorOf(keys, caller),
    ...options,
    lastUsedAt: null,
    verifier,
  });
  if (!added.ok) return added;
  request.notes.issuedTeamToken = auditTeamToken(added.value);
  return document(201, tokenResource(added.value, text));
}

async function show({ env, request }: AnyCall, route: string | null, id: string): Promise<Result<Reply, Failure>> {
  const found = route === null ? null : await teamAt(env, route).token(id);
  if (!found) return NOT_FOUND;
  request.notes.targetAccessor = found.token.tokenId;
  return document(200, tokenResource(found, null));
}

async function remove({ env, request }: AnyCall, route: string | null, id: string): Promise<Result<Reply, Failure>> {
  const removed = route === null ? null : await teamAt(env, route).removeToken(id);
  if (removed === null) return NOT_FOUND;
  request.notes.targetAccessor = removed;
  return ok(EMPTY);
}

function document(status: number, data: Record<string, unknown>): Result<Reply, never> {
  return ok({ kind: "plain", status, body: { data } });
}
