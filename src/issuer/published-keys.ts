import type { JWK } from "jose";
import { IsolateCopy } from "../base/isolate-copy.ts";
import { snapshotMaxAgeMs } from "../system/copy-age.ts";
import type { Installation } from "../system/installation.ts";
import type { IssuerEnv } from "./env.ts";
import { openPublicKey } from "./key-pair.ts";
import { issuerOf } from "./oidc-issuer.ts";

/** What an isolate knows of the issuer. */
export interface KnownIssuer {
  /** As configured; "" when it is not. */
  readonly issuer: string;
  readonly jwks: { readonly keys: readonly JWK[] };
  /** Seconds that others may keep the keys. */
  readonly maxAge: number;
}

const MAX_AGE_SECONDS = 3600;
/** A new version is announced a whole rotation before it signs; copies may be this part of that time old. */
const ROTATIONS_KEPT = 0.25;

interface Copy {
  readonly known: KnownIssuer;
  readonly revision: string;
}

/** What this isolate knows, under one key. */
const copies = new IsolateCopy<"issuer", Copy>(1, (one, other) => one.revision === other.revision);

/** The issuer's public keys as this isolate knows them, no older than POLICY_CACHE_SECONDS: usually without a call. */
export async function loadPublishedKeys(env: IssuerEnv, installation: Installation): Promise<KnownIssuer> {
  const copy = await copies.load("issuer", snapshotMaxAgeMs(env), () => read(env, installation));
  if (!copy) throw new Error("the issuer answered nothing to an isolate that knows nothing");
  return copy.known;
}

/** Makes this isolate read the keys again. Called after every own write, so that the writer sees it at once. */
export function forgetPublishedKeys(): void {
  copies.clear();
}

async function read(env: IssuerEnv, installation: Installation): Promise<Copy | undefined> {
  const before = copies.copied("issuer")?.value;
  const answer = await issuerOf(env).published(before?.revision ?? null);
  if (answer === null) return before;
  const keys = await Promise.all(answer.keys.map((key) => openPublicKey(installation.keys, key)));
  const maxAge = Math.min(MAX_AGE_SECONDS, Math.floor((answer.shortestRotation ?? 0) * ROTATIONS_KEPT));
  return { known: { issuer: answer.issuer, jwks: { keys }, maxAge }, revision: answer.revision };
}
