import { type CallContext, type Route, withParameters } from "../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { auditTeamToken } from "../../auth/team-caller.ts";
import { currentTime } from "../../base/clock.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { teamAt } from "../../team/find.ts";
import { newTeamToken, newTokenId, readTeamId } from "../../team/ids.ts";
import { type Expiry, readExpiry } from "../../team/rules/expiry.ts";
import { descriptionProblem } from "../../team/rules/name.ts";
import { exact, exactString } from "../../wire/exact-fields.ts";
import { strictSchema } from "../../wire/fields.ts";
import { EMPTY, type Reply } from "../../wire/reply.ts";
import { bareRoute, documentReply, documentRoute } from "../json-api/routes.ts";
import { authorOf } from "./author.ts";
import { TOKEN_VIEW } from "./render.ts";
import { readEitherId, TOKEN_TYPES, type TokenPlace } from "./token-id.ts";

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

const NOT_FOUND = err({ code: "not_found" } as const);

/** The attributes of a new token. */
interface TokenAttributes {
  readonly "expired-at": Expiry;
  readonly description: string | null;
}

/** The tokens of a team: by the team the one without a description, all by their own ids. */
export const TEAM_TOKEN_ROUTES: readonly Route[] = withParameters(
  { id: "The id of the token, or of a team for its token without a description" },
  [
    documentRoute(
      "update",
      "teams/:team/authentication-token",
      {
        summary: "Makes the token of a team that has no description, in the place of the one before.",
        operationId: "teams-create-token",
        answers: plainAnswer({ data: TOKEN_VIEW.shape }, 201),
      },
      TOKEN_TYPES,
      UNDESCRIBED,
      create,
    ),
    documentRoute(
      "update",
      "teams/:team/authentication-tokens",
      {
        summary: "Makes another token of a team.",
        operationId: "teams-create-described-token",
        answers: plainAnswer({ data: TOKEN_VIEW.shape }, 201),
      },
      TOKEN_TYPES,
      DESCRIBED,
      create,
    ),
    bareRoute(
      "read",
      "teams/:team/authentication-token",
      {
        summary: "Shows the token of a team that has no description.",
        operationId: "teams-read-token-of-team",
        answers: plainAnswer({ data: TOKEN_VIEW.shape }),
      },
      async (context) => show(context, await unnamedTokenOf(context)),
    ),
    bareRoute(
      "delete",
      "teams/:team/authentication-token",
      {
        summary: "Deletes the token of a team that has no description.",
        operationId: "teams-delete-token-of-team",
        answers: NO_CONTENT,
      },
      async (context) => remove(context, await unnamedTokenOf(context)),
    ),
    // An id of a team stands for its token without a description.
    bareRoute(
      "read",
      "authentication-tokens/:id",
      {
        summary: "Shows a token of a team.",
        operationId: "teams-read-token",
        answers: plainAnswer({ data: TOKEN_VIEW.shape }),
      },
      async (context) => show(context, await readEitherId(context)),
    ),
    bareRoute(
      "delete",
      "authentication-tokens/:id",
      {
        summary: "Deletes a token of a team.",
        operationId: "teams-delete-token",
        answers: NO_CONTENT,
      },
      async (context) => remove(context, await readEitherId(context)),
    ),
  ],
);

type AnyCall = Pick<CallContext<unknown, unknown>, "env" | "installation" | "request" | "params">;

/** The token without a description of the team that the path names. */
async function unnamedTokenOf({ installation, params }: AnyCall): Promise<TokenPlace> {
  return { route: await readTeamId(installation.keys, params.team ?? ""), tokenId: "" };
}

async function create(context: CallContext<unknown, TokenAttributes>): Promise<Result<Reply, Failure>> {
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

async function show({ env, request }: AnyCall, { route, tokenId }: TokenPlace): Promise<Result<Reply, Failure>> {
  const found = route === null ? null : await teamAt(env, route).token(tokenId);
  if (!found) return NOT_FOUND;
  request.notes.targetAccessor = found.token.tokenId;
  return documentReply(TOKEN_VIEW.show({ ...found, text: null }));
}

async function remove({ env, request }: AnyCall, { route, tokenId }: TokenPlace): Promise<Result<Reply, Failure>> {
  const removed = route === null ? null : await teamAt(env, route).removeToken(tokenId);
  if (removed === null) return NOT_FOUND;
  request.notes.targetAccessor = removed;
  return ok(EMPTY);
}
