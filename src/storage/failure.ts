/** What SQLite says when the disk, not the statement, is at fault. */
const DISK = /\bSQLITE_(?:FULL|IOERR\w*|READONLY\w*|CANTOPEN\w*|NOMEM)\b/;
/** What the runtime says in the place of an error of its own, such as a commit that failed after the object's code ran. */
const RUNTIME = /^internal error; reference = /;

/**
 * True for a thrown error that stands for storage which does not work now: a full, failing or read-only disk. Nothing was
 * stored, and the same request may succeed later.
 */
export function isStorageFailure(error: unknown): boolean {
  return error instanceof Error && (DISK.test(error.message) || RUNTIME.test(error.message));
}
