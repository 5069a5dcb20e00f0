import { NO_DIGESTS } from "../backup/files/verify.ts";
import type { NewestBackup } from "../backup/newest.ts";
import { judgeSealKeys, sealKeysOf } from "../backup/seal-keys.ts";
import { numbersOf } from "../local/release-compatibility.ts";

/** The state before an upgrade. Times in ms, sizes in bytes. */
export interface Situation {
  /** The version of this release. */
  readonly ours: string;
  /** The version of the running server; null without an answer. */
  readonly theirs: string | null;
  /** The problem of the workerd that is installed beside this release; null: none. */
  readonly engineProblem: string | null;
  /** Address of the running server. */
  readonly address: string;
  readonly sealed: boolean;
  /** null without a backup. */
  readonly backup:
    | (Pick<NewestBackup, "name" | "at" | "problem" | "sealKeyVersion" | "keyRing" | "copy"> & {
        readonly isOfAnother: boolean;
      })
    | null;
  readonly maxBackupAgeMs: number;
  readonly sealKey: string | undefined;
  /** Set during a rotation of the seal key. */
  readonly previousSealKey: string | undefined;
  readonly dataBytes: number;
  readonly freeBytes: number;
  readonly now: number;
}

/** The result of a check. */
export interface Finding {
  readonly about: string;
  readonly isFault: boolean;
  readonly text: string;
}

type SealKeys = ReturnType<typeof sealKeysOf>;
type Judged = Omit<Finding, "about">;

const fault = (text: string): Judged => ({ isFault: true, text });
const fine = (text: string): Judged => ({ isFault: false, text });

/** Checks whether the server may be upgraded to this release: it may when no finding is a fault. */
export async function checkUpgrade(situation: Situation): Promise<Finding[]> {
  const { sealKey, previousSealKey } = situation;
  const keys = sealKeysOf({ GROVE_SEAL_KEY: sealKey, GROVE_SEAL_KEY_PREVIOUS: previousSealKey });
  return [
    { about: "versions", ...versions(situation) },
    { about: "engine", ...engine(situation) },
    { about: "seal key", ...seal(situation, keys) },
    { about: "backup", ...(await backupOf(situation, keys)) },
    { about: "disk", ...disk(situation) },
  ];
}

/** Releases share storage and calls across one minor version, up or down (docs/upgrading.md). */
function versions({ ours, theirs, address }: Situation): Judged {
  if (theirs === null)
    return fault(`no server answers at ${address}: start the server, or name its address by --address or VAULT_ADDR`);
  const [from, to] = [numbersOf(theirs), numbersOf(ours)];
  if (!from || !to) return fault(`${theirs} to ${ours}: these are no versions`);
  if (from[0] === 0) return fault(`${theirs}: data of 0.x are not read`);
  if (to[0] < from[0] || (to[0] === from[0] && to[1] < from[1])) {
    return fault(`${theirs} to ${ours} is a way back: see docs/upgrading.md`);
  }
  if (to[0] > from[0] || to[1] > from[1] + 1) {
    return fault(`${theirs} to ${ours} leaves releases out: upgrade to the last one of each minor version between`);
  }
  return fine(`${theirs} at ${address} to ${ours}`);
}

/** A server that starts with an older engine ends at once, or does what was not tested. */
function engine({ engineProblem }: Situation): Judged {
  return engineProblem === null ? fine("workerd is that of this release, or newer") : fault(engineProblem);
}

function seal({ sealed, sealKey }: Situation, keys: SealKeys): Judged {
  if (sealed) return fault("the server is sealed: the release that runs does not open its data either");
  // An empty setting counts as not set, as on a server.
  if (!sealKey) return fault("GROVE_SEAL_KEY is not in this environment: the new release would be sealed");
  return keys.ok ? fine("GROVE_SEAL_KEY is there") : fault(keys.error);
}

async function backupOf({ backup, maxBackupAgeMs, now }: Situation, keys: SealKeys): Promise<Judged> {
  if (backup === null) return fault("there is none: npm run backup");
  const { name, at, problem, isOfAnother } = backup;
  if (problem !== null) {
    return fault(`the newest, ${name}, can't be restored: ${problem}: npm run backup`);
  }
  if (isOfAnother) {
    return fault(`the newest, ${name}, is of another installation: npm run backup, into a directory of its own`);
  }
  // An invalid key has its own finding.
  const opened = await judgeSealKeys(backup, keys.ok ? keys.value : []);
  if (opened.kind === "missing") return fault(`the newest, ${name}, ${opened.why}: npm run backup`);
  const whole = backup.copy && !backup.copy.files ? `opens; ${NO_DIGESTS}` : "whole";
  const hours = Math.floor((now - at) / 3_600_000);
  return now - at > maxBackupAgeMs
    ? fault(`the newest, ${name}, is ${hours} hours old: npm run backup`)
    : fine(`the newest, ${name}, is ${hours} hours old and ${whole}`);
}

/** A migration needs at most a second copy of the data. */
function disk({ dataBytes, freeBytes }: Situation): Judged {
  const text = `${megabytes(freeBytes)} MB free, the data have ${megabytes(dataBytes)} MB`;
  return { isFault: freeBytes < dataBytes, text };
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1_000_000);
}
