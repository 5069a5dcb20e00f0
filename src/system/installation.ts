import { waitUntil } from "cloudflare:workers";
import { currentTime } from "../base/clock.ts";
import type { Failure } from "../base/errors.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { ok, type Result } from "../base/result.ts";
import { importKeys, type Keys, lacksSeals, sealedWithVersion, sealKeyRing } from "../crypto/key-ring.ts";
import type { Env } from "../env.ts";
import { type Acl, compileAcl } from "../policy/acl.ts";
import { RESPONSE_WRAPPING_POLICY, RESPONSE_WRAPPING_POLICY_TEXT } from "../policy/builtin.ts";
import { ROOT_POLICY } from "../policy/name.ts";
import { parsePolicy } from "../policy/parse.ts";
import type { NamedPolicy, PathRule } from "../policy/rule.ts";
import { type TemplateContext, usesClock, usesTemplates } from "../policy/template.ts";
import { QuotaTable } from "../quota/quota-table.ts";
import { isWithin, useOfCopy } from "./copy-age.ts";
import { beginSeals, reportKeyUse } from "./key-rotation.ts";
import type { Mount } from "./mount.ts";
import { openKeyRing } from "./open-ring.ts";
import type { PolicyRules } from "./policy-store.ts";
import { snapshotGraceMs, snapshotMaxAgeMs } from "./snapshot-age.ts";
import { type SystemSnapshot, systemOf } from "./system.ts";
import { indexWatermarks, type Watermarks } from "./watermarks.ts";

/** Rules in the compiled sets of policies that an isolate keeps; a set counts one more. */
const MAX_COMPILED_RULES = 2 ** 16;
/** Characters of tokens in one cache of an isolate: those of some ten thousand service tokens, a few MB with the values. */
export const MAX_CACHED_TOKEN_CHARACTERS = 2 ** 20;
/** Characters of the repeated texts of fields and of their hashes in one generation. */
const MAX_CACHED_FIELD_CHARACTERS = 2 ** 16;
/** How long a request waits for the system object when it has a copy that it can go on with, in ms. */
const PATIENCE_MS = 1_000;
/** From one line about a system object that does not answer to the next. */
const TROUBLE_LOG_MS = 5_000;
/** From one report of encryptions to the next. */
const USE_REPORT_MS = 60_000;

/** The entity of a caller, as far as templates in policies read it. */
interface PolicyEntity extends Required<Pick<TemplateContext, "entity" | "groups">> {
  /** Another one after every change. */
  readonly revision: string;
}

/** What an isolate knows of the installation: policies, mounts and opened keys, as of one version of the system object. */
export class Installation {
  readonly version: number;
  readonly clusterId: string;
  readonly keys: Keys;
  /** The version of the seal key that wraps the key ring. */
  readonly sealKeyVersion: number;
  /** The mounts that serve requests, by path. */
  readonly mounts: readonly Mount[];
  /** All mounts: those that are out of service too. */
  readonly allMounts: readonly Mount[];
  readonly customIdFilter: Uint8Array;
  readonly quotas: QuotaTable;
  /** Which tokens were ended together. */
  readonly watermarks: Watermarks;
  /** Hashes of tokens for the audit log, which follow from the token and the keys alone. */
  readonly tokenHashes = new GenerationalCache<string, string>(MAX_CACHED_TOKEN_CHARACTERS);
  /** Hashes of texts that fields repeat, for the same log. */
  readonly fieldHashes = new GenerationalCache<string, string>(MAX_CACHED_FIELD_CHARACTERS);
  readonly #mountsByPath: ReadonlyMap<string, Mount>;
  readonly #policies: ReadonlyMap<string, KnownPolicy>;
  readonly #tamperedPolicies: ReadonlySet<string>;
  readonly #acls = new GenerationalCache<string, Acl>(MAX_COMPILED_RULES);

  /** @param before what this isolate knew before; what has not changed of it is kept. */
  constructor(snapshot: SystemSnapshot, keys: Keys, before?: Installation) {
    this.version = snapshot.version;
    this.clusterId = snapshot.clusterId;
    this.keys = keys;
    this.sealKeyVersion = sealedWithVersion(snapshot.sealedKeyRing ?? "") ?? 0;
    this.allMounts = snapshot.mounts;
    this.mounts = snapshot.mounts.filter((mount) => !mount.disabled);
    this.#mountsByPath = new Map(this.mounts.map((mount) => [mount.path, mount]));
    this.customIdFilter = snapshot.customIdFilter;
    this.quotas = new QuotaTable(snapshot.quotas, snapshot.quotaConfig);
    this.watermarks = indexWatermarks(snapshot.watermarks, snapshot.newestWatermark, before?.watermarks);
    this.#tamperedPolicies = new Set(snapshot.tamperedPolicies);
    const written = snapshot.policies.map(policyWithRules);
    const builtIn = [
      knownPolicy({ name: RESPONSE_WRAPPING_POLICY, rules: RESPONSE_WRAPPING_RULES }, null),
      knownPolicy({ name: ROOT_POLICY, rules: [] }, null),
    ];
    this.#policies = new Map([...written, ...builtIn].map((policy) => [policy.name, policy]));
  }

  /** True when a policy of this name exists at `now` (ms), built-in or written. */
  hasPolicy(name: string, now: number): boolean {
    const policy = this.#policies.get(name);
    return policy !== undefined && (policy.expiresAt === null || now <= policy.expiresAt);
  }

  /** The mount at `path` (with a slash at the end), if any. */
  mountAt(path: string): Mount | undefined {
    return this.#mountsByPath.get(path);
  }

  /** The mount that serves `path` (below `auth/`); the one with the longest path if there are several. */
  mountServing(path: string): Mount | undefined {
    let found: Mount | undefined;
    for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1)) {
      found = this.#mountsByPath.get(path.slice(0, slash + 1)) ?? found;
    }
    return found;
  }

  /**
   * The rules of a set of policies for one caller. Unknown names grant nothing. Compiled once for all callers, or where
   * templates are used once for each state of an entity.
   *
   * @param entity null for a caller without one.
   * @param now ms.
   */
  aclFor(names: readonly string[], entity: PolicyEntity | null, now: number): Acl {
    // Without the rules that were tampered with, what they denied would be granted by others.
    if (names.some((name) => this.#tamperedPolicies.has(name))) return compileAcl([], { now });
    const policies = names.flatMap((name) => this.#policies.get(name) ?? []);
    const personal = entity !== null && policies.some(({ templated }) => templated);
    // As JSON: a name that holds a separator must not become two names.
    const key = JSON.stringify(personal ? [names, entity.entity.id, entity.revision] : [names]);
    const cached = this.#acls.get(key);
    if (cached) return cached;
    const context = personal ? { now, entity: entity.entity, groups: entity.groups } : { now };
    const acl = compileAcl(policies, context);
    if (!policies.some(({ timed }) => timed)) {
      const size = policies.reduce((rules, policy) => rules + policy.rules.length, 1);
      this.#acls.set(key, acl, size);
    }
    return acl;
  }
}

/** A policy with what decides how long and for whom its compiled rules are good. */
interface KnownPolicy extends NamedPolicy {
  /** Its rules differ by entity. */
  readonly templated: boolean;
  /** Its rules differ by the moment. */
  readonly timed: boolean;
  /** ms; null: never. */
  readonly expiresAt: number | null;
}

/** A stored policy with its rules; one that expires has no rule that outlives it. */
function policyWithRules({ name, rulesJson, expiresAt, allowSlashes, allowWildcards }: PolicyRules): KnownPolicy {
  const rules = JSON.parse(rulesJson) as PathRule[];
  const alive = expiresAt === null ? rules : rules.map((rule) => endingBy(rule, expiresAt));
  return knownPolicy({ name, rules: alive, allowSlashes, allowWildcards }, expiresAt);
}

function endingBy(rule: PathRule, expiresAt: number): PathRule {
  return { ...rule, expiresAt: Math.min(rule.expiresAt ?? expiresAt, expiresAt) };
}

function knownPolicy(policy: NamedPolicy, expiresAt: number | null): KnownPolicy {
  const templated = usesTemplates([policy]);
  return { ...policy, templated, timed: templated && usesClock([policy]), expiresAt };
}

const RESPONSE_WRAPPING_RULES = builtinRules(RESPONSE_WRAPPING_POLICY_TEXT);

function builtinRules(text: string): readonly PathRule[] {
  const parsed = parsePolicy(text, 0);
  if (!parsed.ok) throw new Error("a built-in policy does not parse");
  return parsed.value;
}

/** The copy of this isolate, when it was last known to be true (ms), and the number of the reading that brought it. */
let cached: { readonly installation: Installation; readonly checkedAt: number; readonly reading: number } | null = null;
/** When this isolate last reported its encryptions (ms). */
let reportedUseAt = Number.NEGATIVE_INFINITY;
/** Counts readings as they begin. */
let readings = 0;

/** When a reading last began in the background (ms). */
let renewalBegan = Number.NEGATIVE_INFINITY;
/** When the system object last failed to answer in time (ms). */
let troubleAt = Number.NEGATIVE_INFINITY;
/** When that began, and when it was last written to the log (ms); null while the system object answers. */
let trouble: { readonly since: number; loggedAt: number } | null = null;

/**
 * The installation as this isolate knows it, no older than POLICY_CACHE_SECONDS; while the system object is slow or away,
 * POLICY_GRACE_SECONDS older.
 *
 * Of many requests at once one reads it anew, shortly before the copy is too old, and all use the copy meanwhile. They do
 * not wait for that one's promise: the runtime drops it when its request is cancelled, and they would hang with it.
 *
 * @returns "sealed" while there is no seal key, a wrong one, or nothing is initialised, with the command that helps.
 */
export async function loadInstallation(env: Env): Promise<Result<Installation, Failure>> {
  if (!cached) return refreshInstallation(env);
  const { installation, checkedAt } = cached;
  const now = currentTime();
  const limits = { maxAgeMs: snapshotMaxAgeMs(env), graceMs: snapshotGraceMs(env) };
  switch (useOfCopy({ checkedAt, renewalBegan, troubleAt }, limits, now)) {
    case "use":
      return ok(installation);
    case "renew":
      renewalBegan = now;
      waitUntil(refreshOr(env, ok(installation)));
      return ok(installation);
    case "try":
      renewalBegan = now;
      return refreshOr(env, ok(installation));
    case "wait":
      return refreshInstallation(env);
  }
}

/** How long ago (ms) the copy that requests go on with was last known to be true, when that is longer than it may be; else null. */
export function staleCopyAgeMs(env: Env, now: number): number | null {
  if (!cached || !trouble || isWithin(cached.checkedAt, snapshotMaxAgeMs(env), now)) return null;
  return now - cached.checkedAt;
}

/** Reads the installation anew; `copy` when there is no answer in time. The reading goes on then. */
async function refreshOr(env: Env, copy: Result<Installation, Failure>): Promise<Result<Installation, Failure>> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  const reading = refreshInstallation(env);
  // It may end after the request that began it, whose answer does not wait for it.
  waitUntil(reading.catch(() => null));
  try {
    return await Promise.race([reading, tooLate]);
  } catch (error) {
    noteTrouble(error, currentTime());
    return copy;
  } finally {
    clearTimeout(timer);
  }
}

function noteTrouble(error: unknown, now: number): void {
  troubleAt = now;
  trouble ??= { since: now, loggedAt: Number.NEGATIVE_INFINITY };
  if (isWithin(trouble.loggedAt, TROUBLE_LOG_MS, now)) return;
  trouble.loggedAt = now;
  const age = cached ? Math.round((now - cached.checkedAt) / 1000) : null;
  console.error(JSON.stringify({ type: "system_unavailable", error: String(error), copy_age_seconds: age }));
}

function noteAnswer(now: number): void {
  if (trouble) {
    const seconds = Math.round((now - trouble.since) / 1000);
    console.log(JSON.stringify({ type: "system_available", after_seconds: seconds }));
  }
  trouble = null;
  troubleAt = Number.NEGATIVE_INFINITY;
}

/**
 * The same, and not older than what somebody else knew who asks for something: a watermark with this number is known.
 *
 * @param watermark 0 when there was none.
 */
export async function loadInstallationSince(env: Env, watermark: number): Promise<Result<Installation, Failure>> {
  const loaded = await loadInstallation(env);
  return loaded.ok && loaded.value.watermarks.newest < watermark ? refreshInstallation(env) : loaded;
}

/** How old what this isolate works with is, in ms; 0 before anything was read. `now` in ms. */
export function installationAgeMs(now: number): number {
  return cached ? Math.max(0, now - cached.checkedAt) : 0;
}

/** Reads the installation anew when it changed. Called after every own write, so that the writer sees it at once. */
export async function refreshInstallation(env: Env): Promise<Result<Installation, Failure>> {
  const checkedAt = currentTime();
  const reading = ++readings;
  const known = cached;
  const snapshot = await systemOf(env).snapshot(known?.installation.version ?? null);
  noteAnswer(checkedAt);
  if (!snapshot && known) {
    remember({ installation: known.installation, checkedAt, reading });
    await reportUse(env, known.installation.keys, checkedAt);
    return ok(known.installation);
  }
  if (!snapshot) throw new Error("the system object answered nothing to an isolate that knows nothing");
  const keys = await openKeys(env, snapshot.sealedKeyRing);
  if (!keys.ok) return keys;
  return ok(
    remember({ installation: new Installation(snapshot, keys.value, known?.installation), checkedAt, reading }),
  );
}

/** Tells the system object now and then what was encrypted here. Nobody's request fails for it. */
async function reportUse(env: Env, keys: Keys, now: number): Promise<void> {
  if (isWithin(reportedUseAt, USE_REPORT_MS, now)) return;
  reportedUseAt = now;
  try {
    await reportKeyUse(env, keys, now);
  } catch (error) {
    console.error(JSON.stringify({ type: "key_use", error: String(error) }));
  }
}

/** Two readings can end in the other order than they began; what the later one brought stays. */
function remember(read: NonNullable<typeof cached>): Installation {
  if (!cached || cached.reading < read.reading) cached = read;
  return read.installation;
}

/**
 * The installation for objects, which check rows with it. They await it before a transaction: within one nothing can be
 * waited for.
 *
 * @param watermark see `loadInstallationSince`.
 * @throws while the service is sealed: no request gets to an object then.
 */
export async function mustLoadInstallation(env: Env, watermark = 0): Promise<Installation> {
  const loaded = await loadInstallationSince(env, watermark);
  if (!loaded.ok) throw new Error(`rows can't be checked: ${loaded.error.code}`);
  return loaded.value;
}

/** Makes this isolate read the installation, and open its keys, anew: as a freshly started one would. */
export function forgetInstallation(): void {
  cached = null;
}

async function openKeys(env: Env, sealed: string | null): Promise<Result<Keys, Failure>> {
  const opened = await openKeyRing(env, sealed);
  if (!opened.ok) return opened;
  const { ring, sealKey, wrappedByPrevious } = opened.value;
  if (wrappedByPrevious && sealed !== null) {
    // The rotation of the seal key ends here: from now on only the new key opens the ring.
    await systemOf(env).replaceKeyRing(sealed, await sealKeyRing(ring, sealKey));
  }
  if (lacksSeals(ring)) {
    const begun = await beginSeals(env, currentTime());
    if (!begun.ok) return begun;
  }
  return ok(await importKeys(ring));
}
