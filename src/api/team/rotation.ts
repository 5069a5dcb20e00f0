import type { CallContext, Route } from "../../auth/route.ts";
import { plainAnswer } from "../../auth/route-description.ts";
import { auditTeamToken } from "../../auth/team-caller.ts";
import { currentTime } from "../../base/clock.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { openData, sealData } from "../../crypto/sealed-data.ts";
import { ALREADY_ROTATED } from "../../team/failures.ts";
import { teamAt } from "../../team/find.ts";
import { newTeamToken, newTokenId } from "../../team/ids.ts";
import { readExpiry } from "../../team/rules/expiry.ts";
import { exact, exactString } from "../../wire/exact-fields.ts";
import { sent, strictSchema, type Values } from "../../wire/fields.ts";
import type { Reply } from "../../wire/reply.ts";
import { documentReply, documentRoute } from "../json-api/routes.ts";
import { authorOf } from "./author.ts";
import { TOKEN_VIEW } from "./render.ts";
import { readEitherId, TOKEN_TYPES } from "./token-id.ts";

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
  documentRoute(
    "update",
    "authentication-tokens/:id/actions/rotate",
    {
      summary: "Makes a new token in the place of an old one, which stays good until the end of an overlap.",
      operationId: "teams-rotate-token",
      parameters: { id: "The id of the token" },
      answers: plainAnswer({ data: TOKEN_VIEW.shape }, 201),
    },
    TOKEN_TYPES,
    ATTRIBUTES,
    rotate,
  ),
];

/**
 * A repeat of a request with an idempotency key gets the same token: its text was sealed, in a way that opens for the same
 * key and attributes only, and is kept for a day.
 */
async function rotate(context: CallContext<unknown, Attributes>): Promise<Result<Reply, Failure>> {
  const { env, installation, request, params, caller, prepared: attributes } = context;
  const { keys } = installation;
  const { route, tokenId } = await readEitherId(context);
  // With the id of the team a repeat would rotate the token that took over.
  if (route === null || tokenId === "") return err({ code: "not_found" });
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
    replay: sealedFor === null ? null : await sealData(keys, sealedFor, new TextEncoder().encode(text)),
  });
  if (!rotated.ok) return rotated;
  request.notes.targetAccessor = tokenId;
  request.notes.issuedTeamToken = auditTeamToken(rotated.value);
  const { replay } = rotated.value;
  if (replay === null) return documentReply(TOKEN_VIEW.show({ ...rotated.value, text }), 201);
  const replayed = sealedFor === null ? null : await openData(keys, sealedFor, replay);
  if (!replayed) return err(ALREADY_ROTATED);
  return documentReply(TOKEN_VIEW.show({ ...rotated.value, text: new TextDecoder().decode(replayed) }), 201);
}

/** What the text of the new token is sealed for; null for a request that can't be repeated. */
function replayContext(id: string, attributes: Attributes): string | null {
  const key = attributes["idempotency-key"];
  if (key === undefined) return null;
  const request = [id, key, attributes["overlap-seconds"], attributes["expired-at"].expiredAt];
  return `rotation of a team token ${JSON.stringify(request)}`;
}
