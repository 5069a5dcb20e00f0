import type { VerifiedClient } from "../../../auth/login-attempt.ts";
import type { Ms, Seconds } from "../../../base/clock.ts";
import { attempted, type CallAttempt } from "../../../base/lost-call-retry.ts";
import { equalTexts, randomBytes, toBase64Url } from "../../../crypto/bytes.ts";
import { type Keys, keyedHash } from "../../../crypto/key-ring.ts";
import { openText, sealText } from "../../../crypto/sealed-data.ts";
import { storedJson } from "../../../storage/tables.ts";
import type { Mount } from "../../../system/mount.ts";
import type { JwtEnv } from "../env.ts";
import { type FoundLogin, jwtAuthAt } from "../jwt-auth.ts";
import type { PendingRow } from "./pending-login-table.ts";

/** How long a person may take to sign in. */
export const PENDING_MS: Ms = 600_000;
/** Maximum length of the secret of a client. */
export const MAX_CLIENT_NONCE = 512;
/** Longer than any state that is given. */
const MAX_STATE = 512;

/** The person that a provider has named. */
export interface Holder {
  readonly identity: VerifiedClient["alias"];
  /** The `sub`; null without one. */
  readonly subject: string | null;
}

/** A person who has confirmed, and what the role asked of them: see `conditionsOf`. */
export interface Confirmed {
  readonly holder: Holder;
  readonly conditions: string;
}

/** The state of a login by an authorization code. */
export interface CodeLogin {
  readonly kind: "code";
  /** Revision of the configuration, so that a login ends when the issuer changes. */
  readonly revision: string;
  /** As it was sent to the provider. */
  readonly redirectUri: string;
  /** Secrets: what the ID token must repeat, and what proves who asked for the code (PKCE). */
  readonly nonce: string;
  readonly verifier: string;
  /** The page of the console that goes on, when the provider posts its answer to this server; absent: none. */
  readonly returnTo?: string;
  /** The answer of the provider, when this server got it. */
  readonly code?: string;
  /**
   * A secret of the browser that came back with that code. The client that began the login does not have it: it
   * may have sent another person to the provider.
   */
  readonly confirmation?: string;
}

/** The state of a login on any device (RFC 8628). */
export interface DeviceLogin {
  readonly kind: "device";
  readonly revision: string;
  /** A secret. */
  readonly deviceCode: string;
  /** A secret: what proves who asked for the device code (PKCE). Absent: the provider asked for no proof. */
  readonly verifier?: string;
  readonly interval: Seconds;
  /** When the client may poll again. */
  readonly nextPollAt: Ms;
}

/** The state of a login whose answer comes to this server, while its client polls for the result. */
export interface DirectLogin extends Omit<CodeLogin, "kind" | "returnTo"> {
  readonly kind: "direct";
  /** What the person copies from the client to the page. */
  readonly userCode: string;
  /** Address of the client, for the page. */
  readonly clientAddress: string | null;
  /** Number of wrong user codes. */
  readonly wrongCodes: number;
  /** Where it is: "asking" for the person, "confirmed" while it is verified, and the result or the message of its refusal. */
  readonly progress: "asking" | "confirmed" | Confirmed | { readonly refusal: string };
}

export type PendingLogin = CodeLogin | DeviceLogin | DirectLogin;

/** What names a pending login in a request. */
export interface LoginKey {
  readonly state: string;
  /** "" for none; null for a caller that is not the client that began, such as the provider. */
  readonly clientNonce: string | null;
}

/** A pending login that was found, with its opened value. */
export interface OpenedLogin<P extends PendingLogin = PendingLogin> extends FoundLogin {
  readonly key: LoginKey;
  readonly row: PendingRow;
  readonly pending: P;
}

interface Place {
  readonly env: JwtEnv;
  readonly installation: { readonly keys: Keys };
  readonly mount: Pick<Mount, "uuid">;
}

const UTF_8 = new TextEncoder();
const RANDOM_BYTES = 32;

/** A new secret of 256 bits: a state, a nonce, the verifier of a code. */
export function newSecret(): string {
  return toBase64Url(randomBytes(RANDOM_BYTES));
}

/** The challenge that a verifier answers (PKCE, S256). */
export async function challengeOf(verifier: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", UTF_8.encode(verifier))));
}

/** The row of a login that begins. @param clientNonce "" for none. */
export async function pendingRow(
  { installation, mount }: Place,
  pending: PendingLogin,
  login: { readonly state: string; readonly role: string; readonly clientNonce: string; readonly network: string },
  expiresAt: Ms,
): Promise<PendingRow> {
  const { state, role, clientNonce, network } = login;
  const hash = await hashOf(installation.keys, mount, "state", state);
  const client = await clientHash(installation.keys, mount, clientNonce);
  const value = await sealPending(installation.keys, mount, hash, pending);
  return { hash, role, client, network, value, expiresAt };
}

/**
 * Finds the login with this state, or takes it: then it ends, so that only one request can use it.
 *
 * @returns the login; "other client" when another one began it, null when there is none.
 */
export async function openLogin(
  { env, installation, mount }: Place,
  way: "find" | "take",
  key: LoginKey,
  now: Ms,
): Promise<OpenedLogin | "other client" | null> {
  const { state, clientNonce } = key;
  if (state === "" || state.length > MAX_STATE) return null;
  const hash = await hashOf(installation.keys, mount, "state", state);
  const client = clientNonce === null ? null : await clientHash(installation.keys, mount, clientNonce);
  const object = jwtAuthAt(env, mount);
  const take = async (attempt?: CallAttempt) => await object.takeLogin(hash, client, now, attempt);
  const found = way === "take" ? (await attempted(env, take)).answer : await object.findLogin(hash, client, now);
  if (!found.row) return found.isOfOther ? "other client" : null;
  const text = await openText(installation.keys, contextOf(mount, hash), found.row.value);
  if (text === null) throw new Error("a pending login of a jwt mount does not open");
  return { ...found, key, row: found.row, pending: storedJson<PendingLogin>(text) };
}

/** Replaces the state of a login. Returns its row, or null when another request has changed it meanwhile. */
export async function changeLogin(
  { env, installation, mount }: Place,
  { row }: Pick<OpenedLogin, "row">,
  pending: PendingLogin,
  now: Ms,
): Promise<PendingRow | null> {
  const value = await sealPending(installation.keys, mount, row.hash, pending);
  const changed = await jwtAuthAt(env, mount).replaceLogin(row.hash, row.value, value, now);
  return changed ? { ...row, value } : null;
}

/** True for the secret of the browser that came back with the code that is kept for this login. */
export function isConfirmed({ confirmation }: Pick<CodeLogin, "confirmation">, sent: string): boolean {
  return confirmation !== undefined && equalTexts(sent, confirmation);
}

function sealPending(keys: Keys, mount: Pick<Mount, "uuid">, hash: string, pending: PendingLogin) {
  return sealText(keys, contextOf(mount, hash), JSON.stringify(pending));
}

async function clientHash(keys: Keys, mount: Pick<Mount, "uuid">, clientNonce: string): Promise<string> {
  return clientNonce === "" ? "" : hashOf(keys, mount, "client", clientNonce);
}

async function hashOf(keys: Keys, { uuid }: Pick<Mount, "uuid">, what: string, secret: string): Promise<string> {
  return toBase64Url(await keyedHash(keys.identity, UTF_8.encode(`jwt login ${what}\0${uuid}\0${secret}`)));
}

function contextOf({ uuid }: Pick<Mount, "uuid">, hash: string): string {
  return `jwt ${uuid} login ${hash}`;
}
