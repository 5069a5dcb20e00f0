import { ok, type Result, refuse } from "../../base/result.ts";
import { policyAssignRefusal } from "../../policy/builtin.ts";
import { normalizePolicyNames } from "../../policy/name.ts";
import { issuerOf, type Mount, type MountTokenType, mountTtl, narrowTtl } from "../../system/mount.ts";
import { madeAbove, PLAIN_RECORD, type TokenSpec, type TokenType } from "../record.ts";
import { grantTtl } from "./ttl.ts";

/** What an auth method decided about a holder that it has verified. Durations in seconds, 0 meaning "not set". */
export interface Login {
  /** Policies of the method's role, without `default`. */
  readonly policies: readonly string[];
  readonly noDefaultPolicy: boolean;
  /** What the method's role asks for; the mount may decide otherwise. */
  readonly tokenType: "default" | "service" | "batch";
  readonly ttl: number;
  readonly maxTtl: number;
  readonly period: number;
  readonly explicitMaxTtl: number;
  /** 0: no limit. */
  readonly numUses: number;
  /** As `parseCidr` returns them. */
  readonly boundCidrs: readonly string[];
  /** Follows the name of the mount; "" for that alone. */
  readonly displayName: string;
  /** Shown to clients and to policies' templates. */
  readonly metadata: Readonly<Record<string, string>>;
  /** "" without an entity. */
  readonly entityId: string;
  /** Comes back to the method when the token is renewed. Never shown. */
  readonly internal: Readonly<Record<string, string>>;
}

/** A token that a login may have, with what the client should know about it. */
export interface LoginPlan {
  readonly spec: TokenSpec;
  readonly warnings: readonly string[];
}

/**
 * Decides the token of a login. It starts a tree of its own: only revocations of the token itself and of its mount end it.
 *
 * @param watermark the newest one; 0 when there was none.
 * @param now ms.
 */
export function planLogin(mount: Mount, login: Login, watermark: number, now: number): Result<LoginPlan> {
  const type = loginTokenType(mount.config.tokenType, login.tokenType);
  // What can't be enforced on a batch token must not look as if it were.
  if (type === "batch") {
    if (login.explicitMaxTtl > 0) return refuse('batch tokens cannot have "explicit_max_ttl" set');
    if (login.numUses > 0) return refuse('batch tokens cannot have "num_uses" set');
    if (login.period > 0) return refuse('batch tokens cannot have "period" set');
  }
  const policies = normalizePolicyNames(login.noDefaultPolicy ? login.policies : [...login.policies, "default"]);
  if (policies.includes("root")) return refuse("auth methods cannot create root tokens");
  const refusal = policyAssignRefusal(policies);
  if (refusal) return refuse(refusal);
  const ttl = narrowTtl(mountTtl(mount), login.maxTtl);
  const grant = grantTtl({
    issuedAt: now,
    now,
    requestedTtl: login.ttl,
    defaultTtl: ttl.defaultSeconds,
    period: login.period,
    explicitMaxTtl: login.explicitMaxTtl,
    mount: ttl,
  });
  if (!grant.ok) throw new Error("a lifetime that begins now has not passed");
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
        displayName: loginDisplayName(mount.path, login.displayName),
        path: `auth/${mount.path}login`,
        createdAt: now,
        creationTtl: grant.value.ttl,
        explicitMaxTtl: login.explicitMaxTtl,
        period: login.period,
        renewable: type === "service",
        entityId: login.entityId,
        boundCidrs: login.boundCidrs,
        numUses: login.numUses,
        login: { mount: issuerOf(mount), internal: login.internal },
        ...madeAbove(watermark),
      },
    },
    warnings: grant.value.warnings,
  });
}

/** The kind of token that a login gets: a mount tuned to one kind decides, else the method, else the mount's default. */
export function loginTokenType(mount: MountTokenType, method: Login["tokenType"]): TokenType {
  if (mount === "service" || mount === "batch") return mount;
  if (method !== "default") return method;
  return mount === "default-batch" ? "batch" : "service";
}

function loginDisplayName(mountPath: string, name: string): string {
  const source = mountPath.slice(0, -1).replaceAll("/", "-");
  return name === "" ? source : `${source}-${name}`;
}
