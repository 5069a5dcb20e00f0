import { formatDuration } from "../base/duration.ts";
import { DENIED, err, ok, type Result } from "../base/result.ts";
import { normalizePolicyNames, policyNameProblem } from "../policy/policy-names.ts";
import type { MountTtl } from "../system/mount.ts";
import type { TokenView } from "../token/record.ts";
import { addressAllowed, parseCidr, readCidrs } from "../token/rules/bound-cidrs.ts";
import type { Login } from "../token/rules/login.ts";
import type { RenewTerms } from "../token/rules/renew.ts";
import type { Values } from "../wire/field-schema.ts";
import { deprecated, duration, flag, integer, list, sent, text } from "../wire/fields.ts";
import type { ViewFields } from "../wire/view.ts";

/** Token types of a role. A mount that is tuned to one type overrides them. */
const TOKEN_TYPES = ["default", "service", "batch", "default-service", "default-batch"] as const;
type RoleTokenType = (typeof TOKEN_TYPES)[number];

/** A login can't ask for a token type, so the default of the role is the type. */
const LOGIN_TYPES: Readonly<Record<RoleTokenType, Login["tokenType"]>> = {
  default: "default",
  service: "service",
  batch: "batch",
  "default-service": "service",
  "default-batch": "batch",
};

/** Token fields of a role; undefined when not sent. Durations can be negative. */
export const TOKEN_FIELDS = {
  token_ttl: sent(duration()).describe("How long tokens live"),
  token_max_ttl: sent(duration()).describe("How long tokens live at most"),
  token_explicit_max_ttl: sent(duration()).describe("Greatest lifetime of tokens, renewals included"),
  token_period: sent(duration()).describe("Makes tokens periodic"),
  token_policies: sent(list()).describe("Policies of tokens"),
  token_bound_cidrs: sent(list()).describe("Networks that may log in and use tokens"),
  token_strictly_bind_ip: sent(flag(false)).describe("True: tokens are bound to the address that logged in"),
  token_no_default_policy: sent(flag(false)).describe("True: without the policy `default`"),
  token_num_uses: sent(integer()).describe("Uses of a token; 0: no limit"),
  token_type: sent(text()).describe("`default`, `service`, `batch`, `default-service` or `default-batch`"),
  policies: deprecated(sent(list())).describe("Older name of `token_policies`"),
  ttl: deprecated(sent(duration())).describe("Older name of `token_ttl`"),
  max_ttl: deprecated(sent(duration())).describe("Older name of `token_max_ttl`"),
  period: deprecated(sent(duration())).describe("Older name of `token_period`"),
};

/** Older names of limits, in the methods whose reference has them. */
export const OLD_LIMIT_FIELDS = {
  num_uses: deprecated(sent(integer())).describe("Older name of `token_num_uses`"),
  bound_cidrs: deprecated(sent(list())).describe("Older name of `token_bound_cidrs`"),
};

type TokenFields = Values<typeof TOKEN_FIELDS> & Partial<Values<typeof OLD_LIMIT_FIELDS>>;

/** Settings with a deprecated name, which lacks the prefix `token_`. */
const OLD_NAMES = ["policies", "ttl", "max_ttl", "period", "num_uses", "bound_cidrs"] as const;
type RenamedField = (typeof OLD_NAMES)[number];

/** The part of a login's token that the role decides. */
export type TokenTerms = Omit<Login, "displayName" | "metadata" | "entityId" | "internal">;

/** Token settings of a role. 0: not set. Policies are in lower case, sorted, without repeats. */
export interface TokenSettings extends Omit<TokenTerms, "tokenType"> {
  readonly strictlyBindIp: boolean;
  readonly type: RoleTokenType;
  /** Settings whose last write used the deprecated name. Reads show them under both names. */
  readonly shownByOldName: readonly RenamedField[];
}

/** Returns the problem with the fields of a write, whatever is stored, or null. See `changeTokenSettings`. */
export function tokenFieldsProblem(sent: TokenFields): string | null {
  const cidrs = readCidrs(cidrsOf(sent) ?? [], "token_bound_cidrs");
  if (!cidrs.ok) return cidrs.error;
  const negative = DURATIONS.find((field) => (sent[field] ?? 0) < 0);
  if (negative) return `error converting input for field "${negative}": cannot provide negative value`;
  const names = normalizePolicyNames(sent.token_policies ?? sent.policies ?? []);
  const badName = names.map(policyNameProblem).find((problem) => problem !== null);
  if (badName) return `token_policies: ${badName}`;
  if (sent.token_type !== undefined && readType(sent.token_type) === undefined) return "invalid 'token_type' value";
  return (numUsesOf(sent) ?? 0) < 0 ? "'token_num_uses' cannot be negative" : null;
}

/** Token settings of a role that was written without any. */
export const DEFAULT_TOKEN_SETTINGS: TokenSettings = {
  ttl: 0,
  maxTtl: 0,
  explicitMaxTtl: 0,
  period: 0,
  policies: [],
  noDefaultPolicy: false,
  numUses: 0,
  boundCidrs: [],
  strictlyBindIp: false,
  type: "default",
  shownByOldName: [],
};

/**
 * Applies a write to the token settings of a role. The new name of a setting takes precedence over the deprecated one,
 * and hides it from reads when it is sent alone. Messages are the reference's (token fields of a role).
 */
export function changeTokenSettings(
  before: TokenSettings,
  sent: TokenFields,
  mount: MountTtl,
): Result<{ readonly settings: TokenSettings; readonly warnings: readonly string[] }, string> {
  const wrong = tokenFieldsProblem(sent);
  if (wrong) return err(wrong);
  const cidrs = readCidrs(cidrsOf(sent) ?? [], "token_bound_cidrs");
  if (!cidrs.ok) return cidrs;
  const settings: TokenSettings = {
    ttl: sent.token_ttl ?? sent.ttl ?? before.ttl,
    maxTtl: sent.token_max_ttl ?? sent.max_ttl ?? before.maxTtl,
    explicitMaxTtl: sent.token_explicit_max_ttl ?? before.explicitMaxTtl,
    period: sent.token_period ?? sent.period ?? before.period,
    policies: normalizePolicyNames(sent.token_policies ?? sent.policies ?? before.policies),
    noDefaultPolicy: sent.token_no_default_policy ?? before.noDefaultPolicy,
    numUses: numUsesOf(sent) ?? before.numUses,
    boundCidrs: cidrsOf(sent) ? cidrs.value : before.boundCidrs,
    strictlyBindIp: sent.token_strictly_bind_ip ?? before.strictlyBindIp,
    type: readType(sent.token_type) ?? before.type,
    shownByOldName: OLD_NAMES.filter((field) =>
      sent[field] === undefined && sent[`token_${field}`] === undefined
        ? before.shownByOldName.includes(field)
        : sent[field] !== undefined,
    ),
  };
  const problem = problemOf(settings, sent, mount);
  if (problem) return err(problem);
  const warnings =
    settings.maxTtl > mount.maxSeconds
      ? [
          `Given max ttl of ${settings.maxTtl} seconds greater than current mount/system default of ${mount.maxSeconds} seconds; max ttl will be capped at login time`,
        ]
      : [];
  return ok({ settings, warnings });
}

function numUsesOf(sent: TokenFields): number | undefined {
  return sent.token_num_uses ?? sent.num_uses;
}

function cidrsOf(sent: TokenFields): readonly string[] | undefined {
  return sent.token_bound_cidrs ?? sent.bound_cidrs;
}

/** Fields of the token settings in a read of a role. */
export const TOKEN_SETTINGS: ViewFields<TokenSettings> = {
  token_bound_cidrs: [["string"], (settings) => settings.boundCidrs],
  token_explicit_max_ttl: ["integer", (settings) => settings.explicitMaxTtl],
  token_max_ttl: ["integer", (settings) => settings.maxTtl],
  token_no_default_policy: ["boolean", (settings) => settings.noDefaultPolicy],
  token_num_uses: ["integer", (settings) => settings.numUses],
  token_period: ["integer", (settings) => settings.period],
  token_policies: [["string"], (settings) => settings.policies],
  token_strictly_bind_ip: ["boolean", (settings) => settings.strictlyBindIp],
  token_ttl: ["integer", (settings) => settings.ttl],
  token_type: ["string", (settings) => settings.type],
  "policies?": [["string"], (settings) => byOldName(settings, "policies", settings.policies)],
  "ttl?": ["integer", (settings) => byOldName(settings, "ttl", settings.ttl || undefined)],
  "max_ttl?": ["integer", (settings) => byOldName(settings, "max_ttl", settings.maxTtl || undefined)],
  "period?": ["integer", (settings) => byOldName(settings, "period", settings.period || undefined)],
};

/** As `TOKEN_SETTINGS`, where a role has `OLD_LIMIT_FIELDS`. */
export const OLD_LIMITS: ViewFields<TokenSettings> = {
  "num_uses?": ["integer", (settings) => byOldName(settings, "num_uses", settings.numUses || undefined)],
  "bound_cidrs?": [
    ["string"],
    (settings) => byOldName(settings, "bound_cidrs", settings.boundCidrs.length > 0 ? settings.boundCidrs : undefined),
  ],
};

function byOldName<T>({ shownByOldName }: TokenSettings, field: RenamedField, value: T): T | undefined {
  return shownByOldName.includes(field) ? value : undefined;
}

const DURATIONS = [
  ...(["token_ttl", "token_max_ttl", "token_explicit_max_ttl", "token_period"] as const),
  ...(["ttl", "max_ttl", "period"] as const),
];

function problemOf(settings: TokenSettings, sent: TokenFields, mount: MountTtl): string | null {
  if (settings.type === "batch" || settings.type === "default-batch") {
    const start = "'token_type' cannot be 'batch' or 'default_batch' when set to generate";
    if (settings.period > 0) return `${start} periodic tokens`;
    if (settings.numUses > 0) return `${start} tokens with limited use count`;
  }
  if (settings.maxTtl > 0 && settings.ttl > settings.maxTtl) {
    return sent.ttl === undefined && sent.max_ttl === undefined
      ? "'token_ttl' cannot be greater than 'token_max_ttl'"
      : "ttl should be shorter than max ttl";
  }
  if (settings.strictlyBindIp && settings.boundCidrs.length > 0) {
    return "'token_strictly_bind_ip' conflicts with 'token_bound_cidrs'; set only one";
  }
  if (settings.period > mount.maxSeconds) {
    return `period of "${formatDuration(settings.period)}" is greater than the backend's maximum lease TTL of "${formatDuration(mount.maxSeconds)}"`;
  }
  return null;
}

function readType(sent: string | undefined): RoleTokenType | undefined {
  return TOKEN_TYPES.find((type) => type === (sent === "" ? "default" : sent));
}

/** Returns the networks for the token of a login. Refused from other networks, or without the address to bind it to. */
export function bindAddress(token: TokenSettings, clientAddress: string | null): Result<readonly string[]> {
  if (!addressAllowed(token.boundCidrs, clientAddress)) return err(DENIED);
  if (!token.strictlyBindIp) return ok(token.boundCidrs);
  const own = parseCidr(clientAddress ?? "");
  return own.ok && !own.value.includes("/") ? ok([own.value]) : err(DENIED);
}

/** Returns the terms of a token of a role, bound to these networks. */
export function tokenTerms(token: TokenSettings, boundCidrs: readonly string[]): TokenTerms {
  const { type, policies, noDefaultPolicy, ttl, maxTtl, period, explicitMaxTtl, numUses } = token;
  const tokenType = LOGIN_TYPES[type];
  return { policies, noDefaultPolicy, tokenType, ttl, maxTtl, period, explicitMaxTtl, numUses, boundCidrs };
}

/** Returns the terms for the renewal of a token that a login by a role with these settings issued. */
export function renewTerms(
  { ttl, maxTtl, period }: TokenSettings,
  token: Pick<TokenView, "explicitMaxTtl">,
): RenewTerms {
  return { ttl, maxTtl, period, explicitMaxTtl: token.explicitMaxTtl };
}
