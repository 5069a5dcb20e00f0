import { formatRfc3339, type Ms } from "../../../../base/clock.ts";
import { attention, type Finding, failing, good, named, unknown } from "../finding.ts";

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
