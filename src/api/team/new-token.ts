import { auditCaller, type Caller } from "../../auth/caller.ts";
import type { Answered, CallContext } from "../../auth/route.ts";
import { currentTime } from "../../base/clock.ts";
import { changedOnce } from "../../base/lost-call-retry.ts";
import { NOT_FOUND, ok } from "../../base/result.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { newTeamToken, newTokenId, userIdOf } from "../../team/ids.ts";
import type { Author, NewTeamTokenRecord, TeamWithToken } from "../../team/record.ts";
import { type Expiry, readExpiry } from "../../team/rules/token-lifetime.ts";
import { teamAt } from "../../team/stubs.ts";
import { exact } from "../../wire/json-type-fields.ts";
import { EMPTY } from "../../wire/reply.ts";
import { documentReply } from "../json-api/routes.ts";
import { callerWith, isOfTeam } from "./credential.ts";
import { TOKEN_VIEW } from "./view.ts";

/** The types of a resource that asks for a token. */
export const TOKEN_TYPES = ["authentication-token", "authentication-tokens"];

/** Reads `expired-at`. */
export const EXPIRY = exact("string | null", (value) => readExpiry(value, currentTime()));

/**
 * The attributes of every new token. Schemas with them refuse unknown attributes: an ignored misspelling would create a
 * token that never expires.
 */
export const NEW_TOKEN_FIELDS = {
  "expired-at": EXPIRY.describe("When the token expires (RFC 3339); default: the organization's rule, or never"),
};

/** The caller as an author: a team, an organization, or the user that stands for its entity or display name. */
export async function authorOf(keys: Keys, caller: Caller): Promise<Author> {
  if (isOfTeam(caller)) {
    const { teamId, name, organization, holder } = caller.team;
    return holder
      ? { type: "organizations", id: organization, name: organization }
      : { type: "teams", id: teamId, name };
  }
  const { entityId, displayName } = caller.record;
  const identity = entityId === "" ? `name\0${displayName}` : `entity\0${entityId}`;
  return { type: "users", id: await userIdOf(keys, identity), name: displayName };
}

/** Generates a token for the team or the holder at `route`. */
export async function generate({ installation: { keys }, caller }: CallContext, route: string, expiry: Expiry) {
  const { text, verifier } = await newTeamToken(keys, route);
  const token: NewTeamTokenRecord = {
    tokenId: await newTokenId(keys, route),
    description: null,
    createdAt: currentTime(),
    createdBy: await authorOf(keys, caller),
    ...expiry,
    lastUsedAt: null,
    verifier,
  };
  return { text, token };
}

/** Deletes a token of the team or the holder at `route`. @param which see `Team.removeToken`. */
export async function removeToken(context: CallContext<unknown, unknown>, route: string, which: string): Answered {
  const { env, installation, caller, request } = context;
  const by = await authorOf(installation.keys, caller);
  const removed = await changedOnce(env, async (attempt) => {
    const tokenId = await teamAt(env, route).removeToken(which, by, attempt);
    return tokenId === null ? NOT_FOUND : ok(tokenId);
  });
  if (!removed.ok) return removed;
  request.notes.targetAccessor = removed.value;
  return ok(EMPTY);
}

/** Answers with a new token and its text. */
export function createdReply({ request }: CallContext, created: TeamWithToken, text: string) {
  request.notes.issuedToken = auditCaller(callerWith(created));
  return documentReply(TOKEN_VIEW.show({ ...created, text }), 201);
}
