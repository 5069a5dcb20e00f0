import * as z from "zod";
import { type CallContext, type Route, tokenRoute } from "../../auth/route.ts";
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
import { ANY_FIELDS } from "../../wire/fields.ts";
import type { Reply } from "../../wire/reply.ts";
import { readResource, refused } from "../json-api/document.ts";
import { authorOf } from "./author.ts";
import { TOKEN_SHAPE, tokenResource } from "./render.ts";
import { readEitherId, TOKEN_TYPES } from "./token-id.ts";

/** 30 days. */
const MAX_OVERLAP_SECONDS = 2_592_000;
const OVERLAP = `must be a whole number of seconds from 0 to ${MAX_OVERLAP_SECONDS}`;
const KEY = "must be 16 to 128 printable characters";

const ATTRIBUTES = z.strictObject(
  {
    "overlap-seconds": z.int(OVERLAP).min(0, OVERLAP).max(MAX_OVERLAP_SECONDS, OVERLAP),
    "expired-at": z.unknown().optional(),
    "idempotency-key": z
      .string(KEY)
      .regex(/^[\x20-\x7e]{16,128}$/, KEY)
      .optional(),
  },
  {
    error: (issue) =>
      issue.code === "unrecognized_keys" ? "can only be overlap-seconds, expired-at and idempotency-key" : undefined,
  },
);

type Attributes = z.infer<typeof ATTRIBUTES>;

/** Rotation: a new token at once, and the old one good until the end of an overlap. */
export const ROTATION_ROUTES: readonly Route[] = [
  tokenRoute(
    "update",
    "authentication-tokens/:id/actions/rotate",
    {
      summary: "Makes a new token in the place of an old one, which stays good until the end of an overlap.",
      operationId: "teams-rotate-token",
      parameters: { id: "The id of the token" },
      fields: {
        "overlap-seconds": { shape: "integer", description: "How long the old token stays good, 0 to 2,592,000" },
        "expired-at": { shape: "string | null", description: "When the new token ends, as RFC 3339" },
        "idempotency-key": { shape: "string", description: "A repeat with the same key gets the same token for a day" },
      },
      answers: plainAnswer({ data: TOKEN_SHAPE }, 201),
    },
    ANY_FIELDS,
    {
      prepare: async ({ request, fields }) =>
        readResource({ type: request.resourceType, attributes: fields }, TOKEN_TYPES, ATTRIBUTES),
      handle: rotate,
    },
  ),
];

/**
 * A repeat of a request with an idempotency key gets the same token: its text was sealed, in a way that opens for the same
 * key and attributes only, and is kept for a day.
 */
async function rotate(context: CallContext<Record<string, unknown>, Attributes>): Promise<Result<Reply, Failure>> {
  const { env, installation, request, params, caller, prepared: attributes } = context;
  const { keys } = installation;
  const { route, tokenId } = await readEitherId(context);
  // With the id of the team a repeat would rotate the token that took over.
  if (route === null || tokenId === "") return err({ code: "not_found" });
  const expiry = readExpiry(attributes["expired-at"], currentTime());
  if (!expiry.ok) return refused("/data/attributes/expired-at", `expired-at ${expiry.error}`);
  const { text, verifier } = await newTeamToken(keys, route);
  const sealedFor = replayContext(params.id ?? "", attributes);
  const rotated = await teamAt(env, route).rotateToken(tokenId, {
    token: {
      tokenId: await newTokenId(keys, route),
      // The team gives it the description of the old token.
      description: null,
      createdAt: currentTime(),
      createdBy: await authorOf(keys, caller),
      ...expiry.value,
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
  if (replay === null) return document(tokenResource(rotated.value, text));
  const replayed = sealedFor === null ? null : await openData(keys, sealedFor, replay);
  if (!replayed) return err(ALREADY_ROTATED);
  return document(tokenResource(rotated.value, new TextDecoder().decode(replayed)));
}

/** What the text of the new token is sealed for; null for a request that can't be repeated. */
function replayContext(id: string, attributes: Attributes): string | null {
  const key = attributes["idempotency-key"];
  if (key === undefined) return null;
  const request = [id, key, attributes["overlap-seconds"], attributes["expired-at"] ?? null];
  return `rotation of a team token ${JSON.stringify(request)}`;
}

function document(data: Record<string, unknown>): Result<Reply, never> {
  return ok({ kind: "plain", status: 201, body: { data } });
}
