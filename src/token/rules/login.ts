import type { Ms, Seconds } from "../../base/clock.ts";
import { ok, type Result, refuse } from "../../base/result.ts";
import { normalizePolicyNames, policyAssignRefusal } from "../../policy/policy-names.ts";
import { type Mount, mountIssuerOf, mountTtl, narrowTtl } from "../../system/mount.ts";
import { PLAIN_RECORD, type TokenPlan, type TokenType, withWatermark } from "../record.ts";
import { grantTtl } from "./ttl.ts";
import { chooseTokenType, type TokenTypeChoice } from "./type.ts";

/** The decision of an auth method about a client that it has verified. A duration of 0 is not set. */
export interface Login {
  /** Policies of the method's role, without `default`. */
  readonly policies: readonly string[];
  readonly noDefaultPolicy: boolean;
  /** The type that the method's role asks for; the mount can override it (`chooseTokenType`). */
  readonly tokenType: TokenTypeChoice;
  readonly ttl: Seconds;
  readonly maxTtl: Seconds;
  readonly period: Seconds;
  readonly explicitMaxTtl: Seconds;
  /** No renewal extends the token beyond this time; absent: the durations alone limit it. */
  readonly endsBy?: Ms;
  /** 0: no limit. */
  readonly numUses: number;
  /** As `parseCidr` returns them. */
  readonly boundCidrs: readonly string[];
  /** Appended to the name of the mount in the display name; "": the name of the mount alone. */
  readonly displayName: string;
  /** Shown to clients, and used by templates of policies. */
  readonly metadata: Readonly<Record<string, string>>;
  /** "" without an entity. */
  readonly entityId: string;
  /** Data that the method gets back when the token is renewed. Never shown to clients. */
  readonly internal: Readonly<Record<string, string>>;
}

/**
 * Decides the token of a login, or refuses it (400). The token is an orphan with a tree of its own, so no revocation of
 * another token ends it, unless it is issued below one (`issueBelow`). `watermark`: number of the newest one; 0: none.
 */
export function planLogin(mount: Mount, verified: Login, watermark: number, now: Ms): Result<TokenPlan> {
  const type = chooseTokenType(mount.config.tokenType, verified.tokenType);
  const login = withEnd(verified, type, now);
  // A limit that can't be enforced on a batch token is refused: to accept it would look as if it were enforced.
  if (type === "batch") {
    if (login.numUses > 0) return refuse('batch tokens cannot have "num_uses" set');
    if (login.period > 0) return refuse('batch tokens cannot have "period" set');
  }
  const policies = normalizePolicyNames(login.noDefaultPolicy ? login.policies : [...login.policies, "default"]);
  if (policies.includes("root")) return refuse("auth methods cannot create root tokens");
  const refusal = policyAssignRefusal(policies);
  if (refusal) return refuse(refusal);
  const { ttl: requestedTtl, period, explicitMaxTtl } = login;
  const ttl = narrowTtl(mountTtl(mount), login.maxTtl);
  const defaultTtl = ttl.defaultSeconds;
  const grant = grantTtl({ issuedAt: now, now, requestedTtl, defaultTtl, period, explicitMaxTtl, mount: ttl });
  if (!grant.ok) throw new Error("a lifetime that begins now has not passed");
  const mountName = mount.path.slice(0, -1).replaceAll("/", "-");
  return ok({
    spec: {
      type,
      orphan: true,
      expiresAt: grant.value.expiresAt,
      ...(mount.config.locationHint && { location: mount.config.locationHint }),
      record: {
        ...PLAIN_RECORD,
        policies,
        meta: login.metadata,
        displayName: login.displayName === "" ? mountName : `${mountName}-${login.displayName}`,
        path: `auth/${mount.path}login`,
        createdAt: now,
        creationTtl: grant.value.ttl,
        explicitMaxTtl,
        period,
        renewable: type === "service",
        entityId: login.entityId,
        boundCidrs: login.boundCidrs,
        numUses: login.numUses,
        login: { mount: mountIssuerOf(mount), internal: login.internal },
        ...withWatermark(watermark),
      },
    },
    warnings: grant.value.warnings,
  });
}

/** Applies `endsBy` to the durations of a login. A batch token is not renewed, so `maxTtl` is enough. */
function withEnd(login: Login, type: TokenType, now: Ms): Login {
  if (login.endsBy === undefined) return login;
  const left = Math.max(1, Math.ceil((login.endsBy - now) / 1000));
  const atMost = (limit: Seconds) => (limit === 0 ? left : Math.min(limit, left));
  const maxTtl = atMost(login.maxTtl);
  return type === "batch" ? { ...login, maxTtl } : { ...login, maxTtl, explicitMaxTtl: atMost(login.explicitMaxTtl) };
}
