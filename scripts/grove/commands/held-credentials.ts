import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { encodedPath } from "../../local/encoded-path.ts";
import type { Called } from "../client.ts";
import type { Session } from "../terminal.ts";
import { SECRET_ID } from "./audit-lines.ts";
import { readEvents } from "./audit-pages.ts";
import { unproven } from "./ended-check.ts";
import type { Judged } from "./find-judgements.ts";
import { tokensOfLogins } from "./secret-id-logins.ts";

/** A secret-id whose text is not known. */
export interface NamedSecretId {
  readonly accessor: string;
  /** The path of its role. */
  readonly path: string;
}

/** What a wrapping token holds or held. */
export interface Held {
  /** Accessors of tokens. */
  readonly tokens: readonly string[];
  readonly secretIds: readonly NamedSecretId[];
  /** Whether it is a batch token, which has no accessor: whether it is alive can't be asked. */
  readonly isBatch: boolean;
}

export const HOLDS_NOTHING: Held = { tokens: [], secretIds: [], isBatch: false };

/** The path of a request whose answer has a secret-id. The answer to a look-up has only its accessor. */
export const MAKES_SECRET_ID = /^(auth\/.+\/role\/[^/]+)\/(?:custom-)?secret-id$/;

type Wrapping = { readonly accessor: string; readonly path: string };

/**
 * Reads from the audit store what a wrapping token holds or held.
 *
 * @param wrapping with the path of the request whose answer was wrapped.
 */
export async function heldBy(
  { client, terminal }: Pick<Session, "client" | "terminal">,
  { accessor: wrapping, path }: Wrapping,
): Promise<Called<Held>> {
  const events = await readEvents(client, terminal, { accessor: wrapping }, Number.POSITIVE_INFINITY);
  if (!events.ok) return events;
  const made = events.value.events.filter(({ response }) => response?.wrap_info?.accessor === wrapping);
  const inside = made.map(({ response }) => response?.wrap_info?.wrapped_accessor ?? "");
  const accessors = [...new Set(inside.filter((accessor) => accessor !== ""))];
  const role = MAKES_SECRET_ID.exec(path)?.[1];
  return ok({
    isBatch: made.some(({ response }) => response?.auth?.token_type === "batch"),
    tokens: accessors.filter((accessor) => !SECRET_ID.test(accessor)),
    secretIds:
      role === undefined
        ? []
        : accessors.flatMap((accessor) => (SECRET_ID.test(accessor) ? [{ accessor, path: role }] : [])),
  });
}

/** Returns what a wrapping token held and is not proved to have ended. */
async function aliveHeld(session: Pick<Session, "client" | "terminal">, wrapping: Wrapping): Promise<Called<Held>> {
  const held = await heldBy(session, wrapping);
  return held.ok ? aliveOf(session, held.value) : held;
}

/** A secret-id counts as alive as long as a token of its logins can be used. */
async function aliveOf(session: Pick<Session, "client" | "terminal">, held: Held): Promise<Called<Held>> {
  const tokens = await unproven(session.client, held.tokens);
  if (!tokens.ok) return tokens;
  const secretIds: NamedSecretId[] = [];
  for (const secretId of held.secretIds) {
    const isOver = await hasEndedWithTokens(session, secretId);
    if (!isOver.ok) return isOver;
    if (!isOver.value) secretIds.push(secretId);
  }
  return ok({ ...held, tokens: tokens.value, secretIds });
}

/**
 * Returns what outlives a text that has ended: what a wrapping token held, or a secret-id as long as a token of its logins
 * can be used. null for any other text.
 */
export async function outliving(
  session: Pick<Session, "client" | "terminal">,
  { state, kind, ...found }: Judged,
): Promise<Called<Held> | null> {
  if (state !== "ended" || !("chosen_id" in found)) return null;
  if (kind === "wrapping" && found.token) {
    const left = await aliveHeld(session, found.token);
    // A wrapping token that has ended can't be unwrapped.
    const wasTaken = found.ended === undefined || found.ended.how.startsWith("unwrapped");
    return left.ok ? ok({ ...left.value, isBatch: left.value.isBatch && wasTaken }) : left;
  }
  if (kind === "secret-id" && found.credential)
    return aliveOf(session, { ...HOLDS_NOTHING, secretIds: [found.credential] });
  return null;
}

/** True when something is left that can be used, or may be. */
export const isLeft = ({ tokens, secretIds, isBatch }: Held): boolean =>
  isBatch || tokens.length + secretIds.length > 0;

async function hasEndedWithTokens(
  session: Pick<Session, "client" | "terminal">,
  secretId: NamedSecretId,
): Promise<Called<boolean>> {
  const now = await judgeSecretId(session, secretId);
  if (!now.ok) return now;
  if (now.value.state !== "ended") return ok(false);
  const made = await tokensOfLogins(session, secretId.accessor);
  if (!made.ok) return made;
  const left = await unproven(session.client, made.value.accessors);
  return left.ok ? ok(left.value.length === 0 && made.value.unnamed === 0) : left;
}

const LOOKED_UP = z.object({
  secret_id_accessor: z.string(),
  creation_time: z.string().nullable().default(null),
  expiration_time: z.string().nullable().default(null),
});

/** The time of a secret-id that never ends, as Go writes no time. */
const NO_TIME = /^0001-/;

/** A secret-id in the form of an answer about a text. Times that are not known are null. */
export const credentialOf = (
  { accessor, path }: NamedSecretId,
  created: string | null = null,
  expires: string | null = null,
) => ({
  accessor,
  path,
  created,
  expires,
  display_name: "",
  description: "",
  created_by: "",
  policies: [],
  metadata: {},
  entity_id: "",
  parent: null,
});

/** Asks for a secret-id by its accessor. */
export async function judgeSecretId(
  { client }: Pick<Session, "client">,
  secretId: NamedSecretId,
): Promise<Called<Judged>> {
  const { accessor, path } = secretId;
  const lookup = `${path}/secret-id-accessor/lookup`;
  const found = await client.post(encodedPath(lookup), LOOKED_UP, { secret_id_accessor: accessor });
  const judged = { kind: "secret-id", chosen_id: false } as const;
  if (found.ok) {
    const { creation_time: created, expiration_time: end } = found.value;
    const credential = credentialOf(secretId, created, end === null || NO_TIME.test(end) ? null : end);
    return ok({ ...judged, state: "live", message: "A look-up by its accessor finds it.", credential });
  }
  if (found.error.status === 404) return ok({ ...judged, state: "ended", message: "No secret-id has this accessor." });
  if (found.error.status !== 403) return found;
  return ok({ state: "unjudged", kind: "", message: `VAULT_TOKEN needs update on ${lookup}` });
}
