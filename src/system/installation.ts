import { currentTime, isWithin, LATE, orLate } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { MAX_UPDATE_DELAY_MS } from "../base/isolate-copy.ts";
import { err, type Failure, ok, type Result } from "../base/result.ts";
import { importKeys, type Keys, sealedWithVersion, sealKeyRing } from "../crypto/key-ring.ts";
import { QuotaTable } from "../quota/quota.ts";
import { CopySource, useOfCopy } from "./copy-age.ts";
import type { CustomIdList } from "./custom-id-list.ts";
import type { SystemEnv } from "./env.ts";
import { installationLimits } from "./in-effect.ts";
import { reportKeyUse } from "./key-rotation.ts";
import { noteListOpenings } from "./list-openings.ts";
import { MAX_MOUNT_PATH, type Mount } from "./mount.ts";
import { openKeyRing } from "./open-ring.ts";
import type { PartVersions } from "./part-versions.ts";
import { PolicySet } from "./policies.ts";
import { systemOf } from "./system.ts";
import type { SystemSnapshot } from "./system-stores.ts";
import { indexWatermarks, type Watermarks } from "./watermarks.ts";

/** Size of one generation of a cache by token, in characters: ten thousand service tokens, a few MB with values. */
export const MAX_CACHED_TOKEN_CHARACTERS = 2 ** 20;
/** Size of one generation of `fieldHashes`, in characters of texts and hashes. */
const MAX_CACHED_FIELD_CHARACTERS = 2 ** 16;
/** Interval between two reports of encryptions (ms). */
const USE_REPORT_MS = 60_000;

/** An isolate's copy of the installation: policies, mounts, opened keys and more, each part in some version. */
export class Installation {
  readonly versions: PartVersions;
  readonly clusterId: string;
  /** Name of the run whose backup is being restored; null: the installation serves requests. */
  readonly restoring: string | null;
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
  /** See `listOpenings`. */
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

function withKeys({ clusterId, restoring, sealedKeyRing }: NonNullable<SystemSnapshot["parts"]["keys"]>, keys: Keys) {
  return {
    keys,
    clusterId,
    restoring,
    sealKeyVersion: sealedWithVersion(sealedKeyRing ?? "") ?? 0,
    tokenHashes: new GenerationalCache<string, string>(MAX_CACHED_TOKEN_CHARACTERS),
    fieldHashes: new GenerationalCache<string, string>(MAX_CACHED_FIELD_CHARACTERS),
  };
}

function kept(before: Installation | null): Installation {
  if (!before) throw new Error("the system object left out a part that is not known");
  return before;
}

/** This isolate's copy, the time when it was last known to be current (ms), and the number of that reading. */
let cached: { readonly installation: Installation; readonly checkedAt: number; readonly reading: number } | null = null;
/** When this isolate last reported its encryptions (ms). */
let reportedUseAt = Number.NEGATIVE_INFINITY;
/** Number of readings that have begun. */
let readings = 0;

const source = new CopySource("system");

/**
 * Returns this isolate's copy of the installation. It is at most POLICY_CACHE_SECONDS old. In one process it is
 * POLICY_GRACE_SECONDS older while the System object is slow or unavailable.
 *
 * Shortly before the copy is too old, one of the concurrent requests reads it again, and all of them use the copy
 * meanwhile. They do not await that request's promise: the runtime drops the promise when its request is cancelled, and
 * the others would hang.
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
  const read = () => readInstallation(env);
  if (!cached) return readTogether(env);
  const { installation, checkedAt } = cached;
  const copy = { checkedAt, ...installationLimits(env) };
  const use = useOfCopy(copy, source, currentTime());
  const loaded = use === "wait" ? await readTogether(env) : await source.serve(use, copy, ok(installation), read);
  return loaded.ok && loaded.value.watermarks.newest < watermark ? read() : loaded;
}

/** The reading of `readTogether` that is in flight, and when it began (ms). */
let together: { readonly beganAt: number; readonly answer: Promise<Result<Installation>> } | null = null;

/**
 * Reads the installation for requests that have no copy to use. Concurrent ones wait for one reading, so that a slow
 * System object does not get one for each request. After a second they begin another one: the runtime drops the answer
 * of a cancelled request.
 */
async function readTogether(env: SystemEnv): Promise<Result<Installation>> {
  const other = together;
  const maxAgeMs = Math.min(installationLimits(env).maxAgeMs, MAX_UPDATE_DELAY_MS);
  if (other && isWithin(other.beganAt, maxAgeMs, currentTime())) {
    const answer = await orLate(other.answer, MAX_UPDATE_DELAY_MS);
    if (answer !== LATE) return answer;
    if (together === other) together = null;
    return loadCopy(env);
  }
  const own = { beganAt: currentTime(), answer: readInstallation(env) };
  together = own;
  try {
    return await own.answer;
  } finally {
    if (together === own) together = null;
  }
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

/** Age of this isolate's copy in ms; 0 before the first reading. `now` in ms. */
export function installationAgeMs(now: number): number {
  return cached ? Math.max(0, now - cached.checkedAt) : 0;
}

/** Reads the changed parts of the installation. Called after every own write, so that the writer sees it at once. */
export async function refreshInstallation(env: SystemEnv): Promise<Result<Installation>> {
  return served(await readInstallation(env));
}

async function readInstallation(env: SystemEnv): Promise<Result<Installation>> {
  const checkedAt = currentTime();
  const reading = ++readings;
  const known = cached;
  const snapshot = await systemOf(env).snapshot(known?.installation.versions ?? null);
  source.noteAnswer(checkedAt);
  if (!snapshot && known) {
    remember({ installation: known.installation, checkedAt, reading });
    await reportUse(env, known.installation.keys, checkedAt);
    return ok(known.installation);
  }
  if (!snapshot) throw new Error("the system object answered nothing to an isolate that knows nothing");
  const { keys: sealedKeys } = snapshot.parts;
  const opened = sealedKeys ? await openKeys(env, sealedKeys.sealedKeyRing) : ok(null);
  if (!opened.ok) return opened;
  if (!known && !snapshot.parts.mounts) return err(NOT_OPENED_YET);
  const installation = new Installation(snapshot, opened.value, known?.installation ?? null);
  return ok(remember({ installation, checkedAt, reading }));
}

/** For an isolate that can open the key ring before the System object can: it was given the new seal key first. */
const NOT_OPENED_YET: Failure = {
  code: "sealed",
  message: "Grove is sealed: its System object does not have this seal key yet. It gets it with the deployment",
};

/** Reports this isolate's encryptions to the System object, once per `USE_REPORT_MS`. A failure fails no request. */
async function reportUse(env: SystemEnv, keys: Keys, now: number): Promise<void> {
  if (isWithin(reportedUseAt, USE_REPORT_MS, now)) return;
  reportedUseAt = now;
  try {
    await reportKeyUse(env, keys, now);
  } catch (error) {
    console.error(JSON.stringify({ type: "key_use", error: String(error) }));
  }
}

/** Stores the result of a reading. Readings may end in another order than they began: the one that began last wins. */
function remember(read: NonNullable<typeof cached>): Installation {
  if (!cached || cached.reading < read.reading) {
    cached = read;
    noteListOpenings(read.installation.listOpenings);
  }
  return read.installation;
}

/**
 * Loads the installation for a Durable Object, which validates rows with it, also during a restore. Objects await it
 * before a transaction, as a synchronous transaction can't await.
 *
 * @throws while the installation can't be loaded, for example while it is sealed. No request reaches an object then.
 */
export async function mustLoadInstallation(env: SystemEnv, watermark = 0): Promise<Installation> {
  const loaded = await loadCopy(env, watermark);
  if (!loaded.ok) throw new Error(`rows can't be checked: ${loaded.error.code}`);
  return loaded.value;
}

/** Loads the installation for work that no request waits for. @throws while no request is served. */
export async function mustServe(env: SystemEnv): Promise<Installation> {
  const loaded = await loadInstallation(env);
  if (!loaded.ok) throw new Error(`the service answers no request: ${loaded.error.code}`);
  return loaded.value;
}

/** Drops this isolate's copy. The next call reads the installation and opens its keys again, as in a new isolate. */
export function forgetInstallation(): void {
  cached = null;
}

async function openKeys(env: SystemEnv, sealed: string | null): Promise<Result<Keys>> {
  const opened = await openKeyRing(env, sealed);
  if (!opened.ok) return opened;
  const { ring, sealKey, wrappedByPrevious } = opened.value;
  if (wrappedByPrevious && sealed !== null) {
    // This ends the rotation of the seal key: from now on only the new key opens the ring.
    await systemOf(env).replaceKeyRing(sealed, await sealKeyRing(ring, sealKey));
  }
  return ok(await importKeys(ring));
}
