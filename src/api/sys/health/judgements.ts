import { formatRfc3339, type Ms, type Seconds } from "../../../base/clock.ts";
import type { OldData, StorageFaults } from "../../../base/storage-faults.ts";
import { MAX_KEY_TERMS } from "../../../system/key-rotation.ts";
import type { HistorySlot, SeenNode } from "../../../tidy/metrics-history.ts";
import type { PutBack } from "../../../tidy/system-rollback.ts";
import type { RetriedLeases } from "./failing-leases.ts";
import { attention, type Finding, failing, good, named, spanText, unknown } from "./finding.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The hourly work is late after this time. */
const LATE_RUN_MS = 3 * HOUR_MS;
const MAX_CLOCK_SKEW_MS = 30_000;
/** A node that has been silent for this long is missed: it reports itself once a minute. */
const SILENT_MS = 180_000;
/** Share of the requests of a day. More refusals by quotas than that are not the mistake of a single client. */
const MANY_REFUSALS = 0.01;

/** @param silent names of the objects that do not answer. Trees are not asked: no tree is needed by every request. */
export function judgeObjects(silent: readonly string[], disk: StorageFaults): Finding {
  if (silent.length === 0) return judgeAnswering(disk);
  const seen = `no answer from ${named(silent)}`;
  const { advice, link } = remedyOf(disk, "Wait a minute and check again; then look for their errors in the log.");
  return failing(seen, advice, link);
}

function judgeAnswering(disk: StorageFaults): Finding {
  const seen = "those that every request may need answer; no tree of tokens was asked";
  const remedy = remedyOfDisk(disk);
  if (remedy === null) return good(seen);
  const others = disk.isFull ? "others, and each that has to write, may not" : "one whose database is damaged does not";
  return attention(`${seen}, and ${others}`, remedy.advice, remedy.link);
}

const OVERLOADED = "docs/runbook.md#an-object-is-overloaded";

type Remedy = Pick<Finding, "advice" | "link">;

/** What to do where objects do not answer: against a fault of the disk, if one is known, else `advice`. */
function remedyOf(disk: StorageFaults, advice: string): Remedy {
  return remedyOfDisk(disk) ?? { advice, link: OVERLOADED };
}

/** What to do against the fault of the disk; null: none is known. */
function remedyOfDisk(disk: StorageFaults): Remedy | null {
  if (disk.isFull)
    return {
      advice: "The disk is full: make space. A restart is not needed.",
      link: "docs/runbook.md#the-disk-is-full",
    };
  if (disk.damaged.length === 0) return null;
  return {
    advice: "A database is damaged: stop the server and bring a backup of the whole directory back.",
    link: "docs/runbook.md#a-database-is-damaged",
  };
}

/** Judges what the server has seen of its disk since its start. */
export function judgeDisk(disk: StorageFaults, now: Ms): Finding {
  const damaged = disk.damaged.length > 0 ? `damaged below objects/: ${named(disk.damaged)}` : "";
  const full = disk.isFull ? "the disk is full: writes fail" : "";
  const remedy = remedyOfDisk(disk);
  if (remedy !== null)
    return failing([full, damaged].filter((part) => part !== "").join("; "), remedy.advice, remedy.link);
  if (disk.fullAt !== null && now - disk.fullAt < DAY_MS) {
    const seen = `it was full ${spanText(now - disk.fullAt)} ago`;
    return attention(seen, "See what fills it, and make more space.", "docs/runbook.md#the-disk-is-full");
  }
  return good("no write has failed, and no database was found damaged");
}

/** The finding of a check whose facts could not be read. */
export function unreadFinding(disk: StorageFaults): Finding {
  const { advice, link } = remedyOf(disk, "Check again in a minute; the log has the error.");
  return unknown("it could not be read: an object did not answer", advice, link);
}

/** @param releases of the Worker that answered, and of the objects and nodes. */
export function judgeReleases(release: string, releases: readonly string[]): Finding {
  const others = [...new Set(releases)].filter((one) => one !== release);
  if (others.length === 0) return good(release);
  return attention(
    `${release} answered, and ${others.join(", ")} runs too`,
    "Normal while a release is rolled out. If it stays, an instance was not restarted.",
    "docs/upgrading.md",
  );
}

/** @param clientTime null: the client did not say its time. */
export function judgeClock(now: Ms, clientTime: Ms | null): Finding {
  if (clientTime === null) return unknown("the client did not say its time", "Send client_time.", "docs/operations.md");
  const skew = now - clientTime;
  if (Math.abs(skew) <= MAX_CLOCK_SKEW_MS) return good("as that of the client");
  return attention(
    `${spanText(Math.abs(skew))} ${skew > 0 ? "ahead of" : "behind"} that of the client`,
    "Synchronise both with NTP: signed logins and the ends of tokens need the right time.",
    "docs/runbook.md#a-clock-is-wrong",
  );
}

interface BackupFacts {
  readonly hasBucket: boolean;
  readonly intervalMs: Ms;
  /** The start of the last complete backup into the bucket, and why the last backup failed. */
  readonly lastGoodAt: Ms | null;
  readonly lastError: string | null;
  /** When a client last sealed a backup that it read over the API. */
  readonly elsewhereAt: Ms | null;
}

export function judgeBackups(facts: BackupFacts, now: Ms): Finding {
  const { hasBucket, intervalMs, lastGoodAt, lastError, elsewhereAt } = facts;
  const link = "docs/runbook.md#backups-are-missing";
  const error = lastError === null ? "" : `; the last one failed: ${lastError}`;
  const newest = Math.max(lastGoodAt ?? Number.NEGATIVE_INFINITY, elsewhereAt ?? Number.NEGATIVE_INFINITY);
  if (!Number.isFinite(newest)) {
    const advice = "The hourly work begins one; start one now, and see why it fails.";
    if (hasBucket) return (error === "" ? attention : failing)(`none yet in the bucket${error}`, advice, link);
    const seen = "none was made into a bucket or over the API; copies of the data directory can't be seen from here";
    return unknown(seen, "Make sure that some are made, and that one was restored as a test.", link);
  }
  const age = spanText(now - newest);
  const seen = `the last good one was begun ${age} ago, one is due every ${spanText(intervalMs)}${error}`;
  if (now - newest > 3 * intervalMs) return failing(seen, "Make one now, and find out why none was made.", link);
  // The hourly trigger may start a backup up to an hour late, and the backup itself takes time.
  if (now - newest > intervalMs + LATE_RUN_MS || error !== "")
    return attention(seen, "See why the last one is late.", link);
  return good(seen);
}

export function judgeNodes(nodes: readonly SeenNode[], now: Ms): Finding {
  const silent = nodes.filter(({ seenAt }) => now - seenAt > SILENT_MS);
  const up = nodes.length - silent.length;
  const link = "docs/runbook.md#a-node-of-a-cluster-is-not-ready";
  if (nodes.length === 0) return unknown("no node has reported yet", "Wait two minutes and check again.", link);
  if (silent.length > 0) {
    const names = silent.map(({ name, seenAt }) => `${name} (silent for ${spanText(now - seenAt)})`).join(", ");
    return failing(`${up} up; missing: ${names}`, "Look at the node's log and its GET /ready.", link);
  }
  const names = nodes.map(({ name }) => name).join(", ");
  if (up < 3) return attention(`${up} up: ${names}`, "Run three, so that one may be lost.", "docs/cluster.md");
  return good(`${up} up: ${names}`);
}

/**
 * @param version of the seal key that wraps the key ring.
 * @param current version of the seal key of the deployment; null: it is not known.
 * @param hasPrevious true while the previous seal key is set beside the current one.
 */
export function judgeSealKey(version: number, current: number | null, hasPrevious: boolean): Finding {
  const seen = `version ${version} wraps the key ring`;
  if (!hasPrevious) return good(seen);
  const link = "docs/operations.md#rotating-the-seal-key";
  // Without the previous key a ring that it wraps can't be opened.
  if (version !== current)
    return attention(
      `${seen}, not ${current === null ? "the new one" : `version ${current}`} yet`,
      "Keep GROVE_SEAL_KEY_PREVIOUS, and check again in some seconds.",
      link,
    );
  return attention(
    `${seen}, and the previous key is still set`,
    "The rotation is complete: remove GROVE_SEAL_KEY_PREVIOUS.",
    link,
  );
}

interface KeyFacts {
  readonly term: number;
  readonly installedAt: Ms;
  /** Terms that are kept. */
  readonly kept: number;
  readonly isAutomatic: boolean;
  readonly interval: Seconds;
}

export function judgeKeys({ term, installedAt, kept, isAutomatic, interval }: KeyFacts, now: Ms): Finding {
  const age = now - installedAt;
  const seen = `term ${term} is ${spanText(age)} old, ${kept} of at most ${MAX_KEY_TERMS} terms are kept`;
  const link = "docs/operations.md#rotating-the-keys";
  if (kept >= MAX_KEY_TERMS - 2) {
    return attention(seen, "Rotate less often: tidy drops a term when nothing needs it any more.", link);
  }
  if (isAutomatic && interval > 0 && age > interval * 1000 + DAY_MS) {
    return attention(`${seen}; a new one was due after ${spanText(interval * 1000)}`, "See why none began.", link);
  }
  return good(seen);
}

/** @param rotation when the first signing key is due for its rotation; null without a key. */
export function judgeIssuer(rotation: Ms | null, now: Ms): Finding {
  if (rotation === null) return good("no signing keys");
  if (now - rotation > HOUR_MS) {
    const seen = `the rotation of a signing key is ${spanText(now - rotation)} late`;
    return failing(
      seen,
      "Rotate it by hand, and look for issuer_rotation in the log.",
      "docs/issuer.md#keys-and-their-rotation",
    );
  }
  return good(`the next rotation of a signing key is in ${spanText(Math.max(0, rotation - now))}`);
}

const requestsOf = (day: readonly HistorySlot[], what: "requests" | "faults" | "unavailable" | "limited") =>
  day.reduce((sum, { traffic }) => sum + traffic[what], 0);

export function judgeFaults(day: readonly HistorySlot[], disk: StorageFaults): Finding {
  const [requests, faults, unavailable] = [
    requestsOf(day, "requests"),
    requestsOf(day, "faults"),
    requestsOf(day, "unavailable"),
  ];
  const last = day.findLast(({ traffic }) => traffic.faults > 0)?.at;
  const seen = `${faults} answers 500 and ${unavailable} answers 503 of about ${requests} in a day`;
  if (faults > 0 && last !== undefined) {
    const at = new Date(last).toISOString().slice(11, 16);
    return failing(`${seen}, the last 500 after ${at} UTC`, FAULT_ADVICE, "docs/runbook.md#requests-end-in-500");
  }
  if (unavailable > 0) {
    const { advice, link } = remedyOf(disk, "See which objects were busy, and when.");
    return attention(seen, advice, link);
  }
  return good(seen);
}

const FAULT_ADVICE = "Each has its error in the log, with the request's id.";

export function judgeQuotas(day: readonly HistorySlot[], healthIsExempt: boolean): Finding {
  const [requests, limited] = [requestsOf(day, "requests"), requestsOf(day, "limited")];
  const seen = `${limited} of about ${requests} requests were refused in a day`;
  const link = "docs/runbook.md#a-quota-refuses-too-much";
  if (!healthIsExempt) {
    const advice = "Exempt sys/health, or a load balancer may be refused.";
    return attention(`${seen}; sys/health is counted`, advice, "docs/operations.md#limits-on-requests");
  }
  if (limited > requests * MANY_REFUSALS) return attention(seen, "See which clients send too much.", link);
  return good(seen);
}

/**
 * @param irrevocable leases that were given up.
 * @param leases those of tokens that ended lately, whose targets have refused an attempt; `looked`: tokens looked at.
 */
export function judgeLeases(irrevocable: number, leases: RetriedLeases): Finding {
  const { retried, looked, more } = leases;
  const link = "docs/runbook.md#leases-are-not-revoked";
  const number = more ? `at least ${retried}` : `${retried}`;
  const waiting = `${number} of tokens that ended are not accepted by their targets, and tried again`;
  if (irrevocable > 0) {
    return failing(
      `${irrevocable} can't be revoked: their secrets can still be used${retried > 0 ? `; ${waiting}` : ""}`,
      "See the error of each (grove leases); once their service answers, send them again (grove leases --retry).",
      link,
    );
  }
  if (retried > 0) {
    return attention(
      `${waiting}: their secrets can still be used`,
      "See the error of each (grove leases), and whether its service answers: it is tried again for some minutes.",
      link,
    );
  }
  if (more) {
    return unknown(
      `none is irrevocable; ${looked} of the tokens that ended lately were looked at; more ended, or have more leases`,
      "The receipt of a revocation checks the leases of all its tokens.",
      link,
    );
  }
  return good("none is irrevocable, and none of tokens that ended lately fails");
}

interface TidyFacts {
  readonly lastAt: Ms | null;
  readonly failures: number;
  readonly tampered: number;
}

export function judgeTidy({ lastAt, failures, tampered }: TidyFacts, now: Ms): Finding {
  const link = "docs/runbook.md#tidy-is-stuck";
  const ran = lastAt === null ? "no run has ended yet" : `the last run ended ${spanText(now - lastAt)} ago`;
  if (tampered > 0) {
    const advice = "Somebody wrote to the storage without the keys: find out who.";
    return failing(`${ran}; ${tampered} rows were tampered with`, advice, "docs/threat-model.md");
  }
  if (lastAt === null) return unknown(ran, "It begins once an hour; check again then.", link);
  if (now - lastAt > LATE_RUN_MS) return attention(ran, "See whether the hourly trigger comes.", link);
  if (failures > 0) return attention(`${ran}; ${failures} trees did not answer`, "The next run asks them again.", link);
  return good(ran);
}

interface StorageFacts {
  /** Live tokens that had ended, by the last checks of the lists. */
  readonly revived: number;
  /** When the oldest of the last checks began; null: a shard was never checked. */
  readonly since: Ms | null;
  /** When the System object was found in an earlier state, the oldest first. */
  readonly system: readonly PutBack[];
  /** Data that may be a restored backup, on which the server has started. */
  readonly old: OldData | null;
  /** True when all tokens were revoked, as after a restore, since the old data were last served. */
  readonly isRevokedSince: boolean;
}

/** A finding about the System object is urgent for this long: what it shows is over, and may have been on purpose. */
const URGENT_MS = 7 * DAY_MS;

/** Judges whether objects were put back to an earlier state, as far as other objects know their later state. */
export function judgeStorage({ revived, since, system, old, isRevokedSince }: StorageFacts, now: Ms): Finding {
  const link = "docs/runbook.md#storage-was-put-back";
  const last = system.at(-1);
  if (revived > 0) {
    const trees = `${revived} tokens that had ended are alive again: their trees were put back to an earlier state`;
    const seen = last ? `${trees}; ${systemSeen(last)}` : trees;
    return failing(seen, 'Revoke them again: lines of type "revived tokens" in the log have their accessors.', link);
  }
  if (last) {
    const judge = now - last.at < URGENT_MS ? failing : attention;
    return judge(systemSeen(last), "Unless that was on purpose: find out who did it, and what changed since.", link);
  }
  if (old && !isRevokedSince) {
    const what = old.isCopy ? "are a copy" : "were not in use for a while";
    return attention(
      `the data ${what}, last served ${spanText(now - old.servedAt)} ago: if that is a backup, what was revoked since is good again`,
      "After a restore, revoke what was issued before it, if that was not done yet.",
      "docs/runbook.md#restore",
    );
  }
  if (since === null) return unknown("the lists were not compared yet", "It happens once an hour.", "docs/storage.md");
  return good("nothing is known to have been put back");
}

function systemSeen({ at, from }: PutBack): string {
  const found = `${new Date(at).toISOString().slice(0, 16)}Z`;
  if (from === null) return `at ${found} the mark of the System object had been written without the keys`;
  return (
    `at ${found} the System object was found put back to an earlier state: policies, mounts, quotas and ` +
    "watermarks of that time are in force again"
  );
}

interface ListFacts {
  readonly checked: number;
  readonly shards: number;
  /** When the oldest of the last checks began; null: a shard was never checked. */
  readonly since: Ms | null;
  readonly failures: number;
}

/** Lists hear of changes within seconds; what they lost is found by the check of each shard. */
export function judgeLists({ checked, shards, since, failures }: ListFacts, now: Ms): Finding {
  const link = "docs/runbook.md#tidy-is-stuck";
  if (since === null) {
    const seen = `${checked} of ${shards} shards were compared with their trees`;
    return unknown(seen, "Each is compared once an hour; check again then.", link);
  }
  const seen = `all ${shards} shards were compared with their trees in the last ${spanText(now - since)}`;
  if (failures > 0)
    return attention(`${seen}; ${failures} trees did not answer`, "The next check asks them again.", link);
  if (now - since > DAY_MS) return attention(seen, "Normal with very many tokens; else see the log.", link);
  return good(seen);
}

export interface TokenFacts {
  /** Number of root tokens, and of root tokens that never end. `more`: there are more than were counted. */
  readonly root: number;
  readonly endlessRoot: number;
  readonly more: boolean;
  readonly endless: number;
  readonly total: number;
}

const neverEnd = (count: number): string => `${count} never ${count === 1 ? "ends" : "end"}`;

export function judgeRootTokens({ root, endlessRoot, more }: TokenFacts): Finding {
  const live = `${root}${more ? " or more" : ""}`;
  if (root === 0) return good("none lives");
  if (endlessRoot === 0) return good(`${live}, ${root === 1 ? "which ends" : "all of which end"}`);
  return attention(
    `${live}, ${root === 1 ? "which never ends" : `of which ${neverEnd(endlessRoot)}`}`,
    "Revoke it when policies and methods are set up (grove tokens --policy root); a new one can be made.",
    "docs/runbook.md#a-root-token-lives",
  );
}

export function judgeEndless({ endless, endlessRoot, total }: TokenFacts): Finding {
  const seen = `of ${total} tokens ${neverEnd(endless)}`;
  if (endless <= endlessRoot) return good(seen);
  return attention(
    seen,
    "See which (grove tokens --never-ends), and give them a period or an end.",
    "docs/runbook.md#tokens-never-end",
  );
}

interface AuditFacts {
  /** False: the log is the stream of the process alone. */
  readonly isStored: boolean;
  /** Names of the objects of which something was taken out or changed, as far as the directory knows. */
  readonly lost: readonly string[];
  /** Records of the instance that answers: waiting to be stored, and dropped. */
  readonly waiting: number;
  readonly dropped: number;
  /** When that instance first answered a change whose record is not stored; null: there is none. */
  readonly since: Ms | null;
  /** What instances have noted of such changes, also ended ones. */
  readonly notes: readonly { readonly since: Ms; readonly most: number }[];
}

/** Records that may wait for a moment under load. */
const MAX_WAITING_RECORDS = 200;

export function judgeAudit({ isStored, lost, waiting, dropped, since, notes }: AuditFacts): Finding {
  const link = "docs/audit.md#keeping-it";
  if (!isStored) {
    const seen = "each request is two lines of the process's output; whether they are kept can't be seen from here";
    return unknown(seen, "Make sure that they are, off this machine.", link);
  }
  if (lost.length > 0) {
    const seen = `the storage was changed: records or entries of ${named(lost)} were taken out or replaced`;
    const advice = "Run grove audit verify, keep a copy of the storage, and compare with the archive.";
    return failing(seen, advice, "docs/audit.md#nothing-is-taken-out-unseen");
  }
  const advice = "Find out why the objects of the store do not answer.";
  if (since !== null) {
    const seen = `${waiting} records wait since ${formatRfc3339(since)}: until they are stored only the output of the instance has them`;
    return failing(seen, advice, link);
  }
  const [first] = notes;
  if (first) {
    const most = notes.reduce((sum, note) => sum + note.most, 0);
    const seen = `up to ${most} records of answered changes are not stored since ${formatRfc3339(first.since)}: they wait in another instance, or ended with it`;
    return failing(seen, advice, link);
  }
  if (dropped > 0) {
    const seen = `${dropped} records of the instance that answered could not be stored; its output has their lines`;
    return failing(seen, advice, link);
  }
  if (waiting > MAX_WAITING_RECORDS) {
    return attention(
      `${waiting} records of the instance that answered wait to be stored`,
      "Check again in a minute.",
      link,
    );
  }
  return good("every change is stored before it is answered");
}
