import { nameKey } from "../../base/case-folding.ts";
import type { Ms, Seconds } from "../../base/clock.ts";
import { lesserLimit } from "../../base/limits.ts";
import { ok, type Result, refuse, unavailable } from "../../base/result.ts";
import type { MountTtl } from "../../system/mount.ts";
import { checkCustomId } from "../ids.ts";
import {
  PLAIN_RECORD,
  type TokenPlan,
  type TokenSpec,
  type TokenType,
  type TokenView,
  withWatermark,
} from "../record.ts";
import type { TokenRole } from "../role.ts";
import { globMatches } from "./glob.ts";
import { choosePolicies } from "./policies.ts";
import { grantTtl } from "./ttl.ts";
import { readTokenType } from "./type.ts";

/** The fields of a create call, parsed but not validated. Durations can be negative; absent text is "". */
export interface CreateRequest {
  readonly id: string;
  readonly displayName: string;
  readonly policies: readonly string[] | null;
  readonly meta: Readonly<Record<string, string>> | null;
  readonly noParent: boolean;
  readonly noDefaultPolicy: boolean;
  readonly renewable: boolean;
  readonly lease: Seconds;
  readonly ttl: Seconds;
  readonly explicitMaxTtl: Seconds;
  readonly period: Seconds;
  readonly numUses: number;
  readonly type: string;
  readonly entityAlias: string;
  /** True on the create-orphan endpoint, which gives no parent without asking for sudo. */
  readonly orphanEndpoint: boolean;
}

/** The token that creates another one. `numUses`: given to it at its creation; 0: no limit. */
export type Creator = Pick<TokenView, "policies" | "entityId" | "boundCidrs" | "numUses" | "expiresAt">;

/**
 * Decides a creation: the first rule that refuses wins, with a 400, and nothing is written here. The order of the
 * checks and their messages are the reference's (auth/token/create; test/conformance/lines.json T2 to T25, T70).
 *
 * @param sudo true for root, and when the rule that decides the request path grants sudo.
 * @param watermark number of the newest watermark; 0: none.
 */
export function planCreate(
  { request, role, mount }: { request: CreateRequest; role: TokenRole | null; mount: MountTtl },
  creator: Creator,
  sudo: boolean,
  watermark: number,
  now: Ms,
): Result<TokenPlan> {
  if (creator.numUses > 0) return refuse("restricted use token cannot generate child tokens");

  const type = readTokenType(request.type, role);
  if (!type.ok) return type;
  const refusal = refuseFields(request, type.value, creator, role);
  if (refusal) return refuse(refusal);

  const { policies: requested, noDefaultPolicy } = request;
  const chosen = choosePolicies({ requested, noDefaultPolicy, callerPolicies: creator.policies, sudo, role });
  if (!chosen.ok) return refuse(chosen.error);
  const policies = chosen.value;
  const isRoot = policies.includes("root");
  const makesRoot = isRoot && !creator.policies.includes("root");
  if (makesRoot) return refuse("root tokens may not be created without parent token being root");
  if (isRoot && type.value === "batch") return refuse("batch tokens cannot be root tokens");

  if (!role && request.noParent && !request.orphanEndpoint && !sudo) {
    return refuse("root or sudo privileges required to create orphan token");
  }
  if (role && !role.orphan && request.orphanEndpoint) return refuse("the role does not create orphan tokens");
  const orphan = role ? role.orphan : request.noParent || request.orphanEndpoint;
  const durations = checkDurations(request, sudo);
  if (durations) return refuse(durations);

  const warnings: string[] = [];
  const roleMaxTtl = role?.tokenExplicitMaxTtl ?? 0;
  const explicitMaxTtl = mergeLimit("Explicit max TTL", request.explicitMaxTtl, roleMaxTtl, warnings);
  // A batch token can't be renewed, so a role can't make it periodic. The role's explicit maximum still applies to it.
  const rolePeriod = type.value === "batch" ? 0 : (role?.tokenPeriod ?? 0);
  const period = mergeLimit("Period", request.period, rolePeriod, warnings);
  const requestedTtl = request.ttl > 0 ? request.ttl : request.lease;

  let ttl = 0;
  let expiresAt: Ms | null = null;
  if (!isRoot || period > 0 || requestedTtl > 0) {
    const defaultTtl = mount.defaultSeconds;
    const grant = grantTtl({ issuedAt: now, now, requestedTtl, defaultTtl, period, explicitMaxTtl, mount });
    if (!grant.ok) return refuse("past the max TTL, cannot create");
    ttl = grant.value.ttl;
    expiresAt = grant.value.expiresAt;
    warnings.push(...grant.value.warnings);
  } else if (explicitMaxTtl > 0) {
    // A root token may be made without any expiry, so the mount's maximum does not limit its explicit maximum.
    ttl = explicitMaxTtl;
    expiresAt = now + explicitMaxTtl * 1000;
  }
  if (expiresAt === null && creator.expiresAt !== null) {
    return refuse("expiring root tokens cannot create non-expiring root tokens");
  }
  const customId = type.value === "service" ? request.id : "";
  if (customId !== "") {
    const bad = checkCustomId(customId);
    if (bad) return refuse(bad);
    warnings.push(CUSTOM_ID_WARNING);
  }

  const boundCidrs = role ? role.tokenBoundCidrs : orphan ? [] : creator.boundCidrs;
  return ok({
    spec: {
      type: type.value,
      orphan,
      expiresAt,
      ...(orphan && role?.locationHint && { location: role.locationHint }),
      record: {
        ...PLAIN_RECORD,
        policies,
        meta: request.meta,
        displayName: displayName(request.displayName),
        path: creationPath(request.orphanEndpoint, role),
        role: role?.name ?? null,
        createdAt: now,
        creationTtl: ttl,
        explicitMaxTtl,
        // A period that only the role sets is not stored: each renewal uses the present period of the role.
        period: request.period > 0 ? period : 0,
        renewable: type.value === "service" && expiresAt !== null && request.renewable && (role?.renewable ?? true),
        entityId: orphan ? "" : creator.entityId,
        // A token without an expiry is the way out of a lockout, so it is not bound to networks.
        boundCidrs: expiresAt === null ? [] : boundCidrs,
        numUses: lesserLimit(request.numUses, role?.tokenNumUses ?? 0),
        ...withWatermark(watermark),
      },
    },
    warnings,
  });
}

/** True for a token that the tree of its creator can't write in the step that allows the creation. */
export function needsWorkerWrite(
  spec: Pick<TokenSpec, "orphan" | "type">,
  { id, entityAlias }: CreateRequest,
): boolean {
  return spec.orphan || spec.type === "batch" || id !== "" || entityAlias !== "";
}

/** The failure of a creation when a watermark ended all tokens of its kind meanwhile. A retry comes after it. */
export const REVOKED_MEANWHILE = unavailable("tokens of this kind were revoked while this one was made; try again");

/** The reference's warning for every custom id. */
const CUSTOM_ID_WARNING =
  "Supplying a custom ID for the token uses the weaker SHA1 hashing instead of the more secure SHA2-256 HMAC for token obfuscation. SHA1 hashed tokens on the wire leads to less secure lookups.";

function refuseFields(request: CreateRequest, type: TokenType, creator: Creator, role: TokenRole | null) {
  if (type === "batch") {
    if (request.explicitMaxTtl !== 0) return 'batch tokens cannot have "explicit_max_ttl" set';
    if (request.numUses !== 0) return 'batch tokens cannot have "num_uses" set';
    if (request.period !== 0) return 'batch tokens cannot have "period" set';
    // Uses of a batch token are not counted: a client must not avoid the role's limit by choosing that type.
    if (role && role.tokenNumUses > 0) return 'batch tokens cannot have "num_uses" set';
  }
  if (request.numUses < 0) return "number of uses cannot be negative";
  if (request.entityAlias !== "") {
    if (!role) return "'entity_alias' is only allowed in combination with token role";
    const alias = nameKey(request.entityAlias);
    const isAllowed = role.allowedEntityAliases.some((allowed) => globMatches(nameKey(allowed), alias));
    if (!isAllowed) return "invalid 'entity_alias' value";
  }
  // The specification reserves the choice of an id to root itself; sudo on the path is not enough.
  const isRefused = request.id !== "" && !creator.policies.includes("root");
  return isRefused ? "root or sudo privileges required to specify token id" : null;
}

function checkDurations(request: CreateRequest, sudo: boolean): string | null {
  if (request.explicitMaxTtl < 0) return "explicit_max_ttl must be positive";
  if (request.period < 0) return "period must be positive";
  if (request.period > 0 && !sudo) return "root or sudo privileges required to create periodic token";
  if (request.ttl < 0) return "ttl must be positive";
  if (request.lease < 0) return "lease must be positive";
  return null;
}

function mergeLimit(what: string, requested: Seconds, fromRole: Seconds, warnings: string[]): Seconds {
  const lesser = lesserLimit(requested, fromRole);
  const warning = `${what} specified both during creation call and in role; using the lesser value of ${lesser} seconds`;
  if (requested !== 0 && fromRole !== 0) warnings.push(warning);
  return lesser;
}

function creationPath(orphanEndpoint: boolean, role: TokenRole | null): string {
  if (role) return `auth/token/create/${role.name}${role.pathSuffix ? `/${role.pathSuffix}` : ""}`;
  return orphanEndpoint ? "auth/token/create-orphan" : "auth/token/create";
}

/** `token`, or `token-` and the name. All but letters, digits and `-` become `-`, and one `-` at the end is dropped. */
export function displayName(requested: string): string {
  if (requested === "") return "token";
  return `token-${requested.replace(/[^A-Za-z0-9-]/g, "-").replace(/-$/, "")}`;
}
