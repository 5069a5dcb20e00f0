import { waitUntil } from "cloudflare:workers";
import { currentTime, isWithin, type Ms } from "../base/clock.ts";
import { Copies } from "../base/copies.ts";
import { LoggedOwner } from "../base/copy-owner.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { err, type Failure, ok, type Result } from "../base/result.ts";
import { importKeys, type Keys, sealedWithVersion, sealKeyRing } from "../crypto/key-ring.ts";
import { QuotaTable } from "../quota/quota.ts";
import type { CustomIdList } from "./custom-id-list.ts";
import type { SystemEnv } from "./env.ts";
import { noteListOpenings } from "./generation-openings.ts";
import { installationLimits } from "./in-effect.ts";
import { replaceKeyRing, reportKeyUse } from "./key-rotation.ts";
import type { Mount } from "./mount.ts";
import { MAX_MOUNT_PATH } from "./mount-path.ts";
import { openKeyRing } from "./open-key-ring.ts";
import type { PartVersions } from "./part-versions.ts";
import { PolicySet } from "./policies.ts";
import { systemOf } from "./system.ts";
import type { SystemSnapshot } from "./system-stores.ts";
import { indexWatermarks, type Watermarks } from "./watermarks.ts";

/** Size of one generation of a cache by token, in characters: ten thousand service tokens, a few MB with values. */
export const MAX_CACHED_TOKEN_CHARACTERS = 2 ** 20;
/** Size of one generation of `fieldHashes`, in characters of texts and hashes. */
const MAX_CACHED_FIELD_CHARACTERS = 2 ** 16;
/** Interval between two reports of encryptions. */
const USE_REPORT_MS = 60_000;

/** An isolate's copy of the installation: policies, mounts, opened keys and more, each part in some version. */
export class Installation {
  readonly versions: PartVersions;
  readonly clusterId: string;
  /** Name of the run whose backup is being restored; null: the installation serves requests. */
  readonly restoring: string | null;
  /** Nonce of the setup token. Only this token is served until the declared start is complete; null: it is complete. */
  readonly setup: string | null;
  readonly keys: Keys;
  /** The version of the seal key that wraps the key ring. */
  readonly sealKeyVersion: number;
  /** The mounts that serve requests, by path. */
  readonly mounts: readonly Mount[];
  readonly policies: PolicySet;
  readonly customIdList: CustomIdList;
  readonly quotas: QuotaTable;
  /** The watermarks, each of which ends many tokens at once. */
  readonly watermarks: Watermarks;
  readonly listOpenings: readonly number[];
  /** Hashes of tokens for the audit log. They depend only on token and keys: a change of the keys drops them. */
  readonly tokenHashes: GenerationalCache<string, string>;
  /** Hashes of texts that recur in fields, for the audit log. */
  readonly fieldHashes: GenerationalCache<string, string>;
  readonly #mountsByPath: ReadonlyMap<string, Mount>;

  /**
   * @param opened the keys of the snapshot; null when the snapshot has none.
   * @param before the copy whose versions were sent for the snapshot. Unchanged parts, and values derived from them,
   *   are taken from it. null for the first copy.
   */
  constructor({ versions, parts }: SystemSnapshot, opened: Keys | null, before: Installation | null) {
    const ofKeys = parts.keys && opened ? withKeys(parts.keys, opened) : kept(before);
    this.versions = versions;
    this.keys = ofKeys.keys;
    this.clusterId = ofKeys.clusterId;
    this.restoring = ofKeys.restoring;
    this.setup = ofKeys.setup;
    this.sealKeyVersion = ofKeys.sealKeyVersion;
    this.tokenHashes = ofKeys.tokenHashes;
    this.fieldHashes = ofKeys.fieldHashes;
    this.mounts = parts.mounts ?? kept(before).mounts;
    this.#mountsByPath = new Map(this.mounts.map((mount) => [mount.path, mount]));
    this.customIdList = parts.customIds ? (parts.customIds.list ?? null) : kept(before).customIdList;
    this.quotas = parts.quotas ? new QuotaTable(parts.quotas.list, parts.quotas.config) : kept(before).quotas;
    this.watermarks = parts.watermarks
      ? indexWatermarks(parts.watermarks.list, parts.watermarks.newest)
      : kept(before).watermarks;
    this.listOpenings = parts.lists?.openings ?? kept(before).listOpenings;
    this.policies = parts.policies ? new PolicySet(parts.policies) : kept(before).policies;
  }

  /** The mount at `path` (with a slash at the end), if any. */
  mountAt(path: string): Mount | undefined {
    return this.#mountsByPath.get(path);
  }

  /** Returns the auth mount of a full path (`auth/…`), if any; the one with the longest path if there are several. */
  mountServing(path: string): Mount | undefined {
    if (!path.startsWith("auth/")) return undefined;
    const start = "auth/".length;
    const end = start + MAX_MOUNT_PATH;
    let found: Mount | undefined;
    for (let slash = path.indexOf("/", start); slash >= 0 && slash < end; slash = path.indexOf("/", slash + 1)) {
      found = this.#mountsByPath.get(path.slice(start, slash + 1)) ?? found;
    }
    return found;
  }

  /** Returns the full path (`auth/…/`) of the auth mount that serves a path, if any. */
  mountPathServing(path: string): string | undefined {
    const mount = this.mountServing(path);
    return mount && `auth/${mount.path}`;
  }
}

function withKeys(
  { clusterId, restoring, setup, sealedKeyRing }: NonNullable<SystemSnapshot["parts"]["keys"]>,
  keys: Keys,
) {
  return {
    keys,
    clusterId,
    restoring,
    // The System object of the last release sends none.
    setup: setup ?? null,
    sealKeyVersion: sealedWithVersion(sealedKeyRing ?? "") ?? 0,
    tokenHashes: new GenerationalCache<string, string>(MAX_CACHED_TOKEN_CHARACTERS),
    fieldHashes: new GenerationalCache<string, string>(MAX_CACHED_FIELD_CHARACTERS),
  };
}

function kept(before: Installation | null): Installation {
  if (!before) throw new Error("the system object left out a part that is not known");
  return before;
}

/** When this isolate last reported its encryptions. */
let reportedUseAt: Ms = Number.NEGATIVE_INFINITY;

const THE_ONE = "installation";
/** This isolate's copy. */
const copies = new Copies<typeof THE_ONE, Result<Installation>>(1, {
  isKept: ({ ok: isOpen }) => isOpen,
  inBackground: waitUntil,
});
const owner = new LoggedOwner("system");

/**
 * Returns this isolate's copy of the installation. It is at most POLICY_CACHE_SECONDS old. In one process it is
 * POLICY_GRACE_SECONDS older while the System object is slow or unavailable.
 *
 * @param watermark number of the newest watermark that a calling isolate knew. A copy without it is read again, so that
 *   it is not older than the copy of the caller.
 * @returns "sealed" while the seal key is missing or wrong, with a message that names the remedy, and during a restore;
 *   "uninitialized" while there is no key ring.
 */
export async function loadInstallation(env: SystemEnv, watermark = 0): Promise<Result<Installation>> {
  return served(await loadCopy(env, watermark));
}

/** Refuses an installation that is being restored: rows are missing, so nothing may be decided or answered from it. */
function served(loaded: Result<Installation>): Result<Installation> {
  return loaded.ok && loaded.value.restoring !== null ? err(BEING_RESTORED) : loaded;
}

const BEING_RESTORED: Failure = { code: "sealed", message: "Grove is sealed: it is being restored from a backup" };

async function loadCopy(env: SystemEnv, watermark = 0): Promise<Result<Installation>> {
  const loaded = await copies.load(THE_ONE, installationLimits(env), () => readInstallation(env), owner);
  return loaded.ok && loaded.value.watermarks.newest < watermark ? readAnew(env) : loaded;
}

function readAnew(env: SystemEnv): Promise<Result<Installation>> {
  return copies.refresh(THE_ONE, () => readInstallation(env), owner);
}

/** The keys of an installation that is being restored, and the run of its backup; "not restoring" for any other. */
export async function loadRestoring(
  env: SystemEnv,
): Promise<Result<{ readonly restoring: string; readonly keys: Keys }, "not restoring">> {
  const loaded = await loadCopy(env);
  if (!loaded.ok || loaded.value.restoring === null) return err("not restoring");
  return ok({ restoring: loaded.value.restoring, keys: loaded.value.keys });
}

/** Allows an object to take pages of a backup. @throws unless the installation is being restored. */
export async function mustBeRestoring(env: SystemEnv): Promise<void> {
  if (!(await loadRestoring(env)).ok) throw new Error("the installation is not being restored");
}

/** Age of this isolate's copy; 0 before the first reading. */
export function installationAgeMs(now: Ms): Ms {
  return Math.max(0, now - (copies.copied(THE_ONE)?.beganAt ?? now));
}

/** Reads the changed parts of the installation. Called after every own write, so that the writer sees it at once. */
export async function refreshInstallation(env: SystemEnv): Promise<Result<Installation>> {
  return served(await readAnew(env));
}

async function readInstallation(env: SystemEnv): Promise<Result<Installation>> {
  const now = currentTime();
  const copy = copies.copied(THE_ONE)?.answer;
  const known = copy?.ok ? copy.value : null;
  const snapshot = await systemOf(env).snapshot(known?.versions ?? null);
  if (!snapshot && known) {
    await reportUse(env, known.keys, now);
    return ok(known);
  }
  if (!snapshot) throw new Error("the system object returned no data to an isolate without a copy");
  const { keys: sealedKeys } = snapshot.parts;
  const opened = sealedKeys ? await openKeys(env, sealedKeys.sealedKeyRing) : ok(null);
  if (!opened.ok) return opened;
  if (!known && !snapshot.parts.mounts) return err(NOT_OPENED_YET);
  const installation = new Installation(snapshot, opened.value, known);
  noteListOpenings(installation.listOpenings);
  return ok(installation);
}

/** For an isolate that can open the key ring before the System object can: it was given the new seal key first. */
const NOT_OPENED_YET: Failure = {
  code: "sealed",
  message: "Grove is sealed: its System object does not have this seal key yet. It gets it with the deployment",
};

/** Reports this isolate's encryptions to the System object, once per `USE_REPORT_MS`. A failure fails no request. */
async function reportUse(env: SystemEnv, keys: Keys, now: Ms): Promise<void> {
  if (isWithin(reportedUseAt, USE_REPORT_MS, now)) return;
  reportedUseAt = now;
  try {
    await reportKeyUse(env, keys, now);
  } catch (error) {
    console.error(JSON.stringify({ type: "key_use", error: String(error) }));
  }
}

/**
 * Loads the installation for a Durable Object, which validates rows with it, also during a restore. Objects await it
 * before a transaction, as a synchronous transaction can't await.
 *
 * @throws while the installation can't be loaded, for example while it is sealed. No request reaches an object then.
 */
export async function mustLoadInstallation(env: SystemEnv, watermark = 0): Promise<Installation> {
  return orThrow(await loadCopy(env, watermark), "rows can't be checked");
}

/**
 * `mustLoadInstallation` for the work of an alarm. null while the service is sealed or not initialised: that is no
 * failure to log, since every request is refused with it.
 *
 * @throws for another failure.
 */
export async function loadForAlarm(env: SystemEnv): Promise<Installation | null> {
  const loaded = await loadCopy(env);
  if (!loaded.ok && (loaded.error.code === "sealed" || loaded.error.code === "uninitialized")) return null;
  return orThrow(loaded, "rows can't be checked");
}

/** Loads the installation for work that no request waits for. @throws while no request is served. */
export async function mustServe(env: SystemEnv): Promise<Installation> {
  return orThrow(await loadInstallation(env), "the service answers no request");
}

function orThrow(loaded: Result<Installation>, problem: string): Installation {
  if (!loaded.ok) throw new Error(`${problem}: ${loaded.error.code}`);
  return loaded.value;
}

/** Drops this isolate's copy. The next call reads the installation and opens its keys again, as in a new isolate. */
export function forgetInstallation(): void {
  copies.clear();
}

async function openKeys(env: SystemEnv, sealed: string | null): Promise<Result<Keys>> {
  const opened = await openKeyRing(env, sealed);
  if (!opened.ok) return opened;
  const { ring, sealKey, wrappedByPrevious } = opened.value;
  if (wrappedByPrevious && sealed !== null) {
    // This ends the rotation of the seal key: from now on only the new key opens the ring.
    await replaceKeyRing(env, sealed, await sealKeyRing(ring, sealKey));
  }
  return ok(await importKeys(ring));
}
