import { currentTime } from "../base/clock.ts";
import { base62Digest, hasNoLookalikes, randomBase58, randomBase62 } from "../crypto/base62.ts";
import { equalTexts } from "../crypto/bytes.ts";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";
import { termInUse } from "../crypto/row-keys.ts";

/**
 * Every id has the route to the object of its team, so no look-up is needed, and a tag that only this installation can
 * make, so a forged or mistyped id wakes no object:
 *
 *     team id    `team-` route (8) tag (8)
 *     token id   `at-`   route (8) random (4) tag (4)
 *     token      random (14) `.atlasv1.` route (8) random (48) tag (11)
 *
 * All have only letters and digits. New team ids are in base58, without characters that look alike. The tokens of an
 * organization have the route to their holder, whose first character is `HOLDER_MARK`. A tag is a part of a keyed hash
 * over everything before it. The team stores the other part of the hash of a token. Texts are compared without
 * decoding, so each id has only one spelling.
 */
const ROUTE = 8;
const TEAM_TAG = 8;
const TOKEN_ID_RANDOM = 4;
const TOKEN_ID_TAG = 4;
const TOKEN_HEAD = 14;
const TOKEN_RANDOM = 48;
const TOKEN_TAG = 11;
const ID_RANDOM = 16;
/** Number of bytes of the hash in a tag: 64 bits, which fit in 11 characters. */
const TAG_BYTES = 8;
/** Begins the routes of holders. It is not in base58, so no route of a new team begins with it. */
const HOLDER_MARK = "0";

const TEAM_ID = /^team-[0-9A-Za-z]{16}$/;
const TOKEN_ID = /^at-[0-9A-Za-z]{16}$/;
/** Finds tokens within a longer text. */
export const TEAM_TOKENS_WITHIN = /[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z]{67}/g;
const TOKEN = new RegExp(`^${TEAM_TOKENS_WITHIN.source}$`);
const TOKEN_MARK = ".atlasv1.";

const UTF8 = new TextEncoder();

/** A token, as its team checks it. */
interface TeamCredential {
  readonly route: string;
  /** 24 bytes of keyed hash. */
  readonly verifier: Uint8Array<ArrayBuffer>;
}

/** Makes an id for a new team. With 47 random bits in the route, its object is practically always free. */
export async function newTeamId(keys: Keys): Promise<string> {
  for (;;) {
    const body = `team-${randomBase58(ROUTE)}`;
    const ending = await tag(keys, body, TEAM_TAG);
    // Clients import only teams with ids in base58. Three of five tags are in base58.
    if (hasNoLookalikes(ending)) return body + ending;
  }
}

/** Makes an id for the holder of an organization's tokens. Its tag is another one, so that no client can name it. */
export async function newHolderId(keys: Keys): Promise<string> {
  const body = `team-${HOLDER_MARK}${randomBase58(ROUTE - HOLDER_MARK.length)}`;
  return body + (await tag(keys, `holder\0${body}`, TEAM_TAG));
}

/** True for the route to a holder. Decides only what tokens are called: older teams can have such routes. */
export function isHolderRoute(route: string): boolean {
  return route.startsWith(HOLDER_MARK);
}

/** The route in a team id; null for an id that this installation has not made, and for that of a holder. */
export async function readTeamId(keys: Keys, text: string): Promise<string | null> {
  return TEAM_ID.test(text) && (await isTagged(keys, text, TEAM_TAG)) ? teamRoute(text) : null;
}

export function teamRoute(teamId: string): string {
  return teamId.slice("team-".length, "team-".length + ROUTE);
}

/** Makes an id for a new token of the team at `route`. */
export async function newTokenId(keys: Keys, route: string): Promise<string> {
  const body = `at-${route}${randomBase62(TOKEN_ID_RANDOM)}`;
  return body + (await tag(keys, body, TOKEN_ID_TAG));
}

/** The route in a token id; null for an id that this installation has not made. */
export async function readTokenId(keys: Keys, text: string): Promise<string | null> {
  if (!TOKEN_ID.test(text) || !(await isTagged(keys, text, TOKEN_ID_TAG))) return null;
  return text.slice("at-".length, "at-".length + ROUTE);
}

/** Generates a token for the team at `route`, with 368 random bits. The client gets its text once. */
export async function newTeamToken(keys: Keys, route: string) {
  const body = `${randomBase62(TOKEN_HEAD)}${TOKEN_MARK}${route}${randomBase62(TOKEN_RANDOM)}`;
  const hash = await hashOf(termInUse(keys.terms, currentTime()).tokens, body);
  return { text: body + base62Digest(hash.subarray(0, TAG_BYTES), TOKEN_TAG), verifier: hash.slice(TAG_BYTES) };
}

/** True for a text in the format of team tokens, which no other kind of token has. */
export function looksLikeTeamToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Reads a team token; null for a token that this installation has not made. */
export async function readTeamToken(keys: Keys, text: string): Promise<TeamCredential | null> {
  if (!looksLikeTeamToken(text)) return null;
  const routeAt = TOKEN_HEAD + TOKEN_MARK.length;
  for (const { tokens } of keys.terms) {
    const hash = await hashOf(tokens, text.slice(0, -TOKEN_TAG));
    if (!equalTexts(base62Digest(hash.subarray(0, TAG_BYTES), TOKEN_TAG), text.slice(-TOKEN_TAG))) continue;
    return { route: text.slice(routeAt, routeAt + ROUTE), verifier: hash.slice(TAG_BYTES) };
  }
  return null;
}

/** The id of the user with this identity. The identity can't be derived from it. */
export async function userIdOf(keys: Keys, identity: string): Promise<string> {
  return `user-${base62Digest(await hashOf(keys.identity, `user\0${identity}`), ID_RANDOM)}`;
}

export function newWebhookId(): string {
  return `nc-${randomBase58(ID_RANDOM)}`;
}

/** Makes an id that distinguishes an organization from an earlier one with the same name. */
export function newOrganizationId(): string {
  return `org-${randomBase62(ID_RANDOM)}`;
}

async function isTagged(keys: Keys, text: string, length: number): Promise<boolean> {
  return equalTexts(await tag(keys, text.slice(0, -length), length), text.slice(-length));
}

async function tag(keys: Keys, body: string, length: number): Promise<string> {
  return base62Digest((await hashOf(keys.identity, body)).subarray(0, TAG_BYTES), length);
}

/** No two kinds of id have the same hash: each body begins with the prefix of its kind, or has the mark of a token. */
function hashOf(key: CryptoKey, body: string): Promise<Uint8Array<ArrayBuffer>> {
  return keyedHash(key, UTF8.encode(`team\0${body}`));
}
