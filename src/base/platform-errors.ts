import { type Failure, unavailable } from "./result.ts";

/*
 * What the platform throws at a call to an object that it does not carry out now, and what is thrown where storage does not work. An
 * error that has come through another object has lost its flags, so the texts of the vendor's page on troubleshooting count as well.
 */

const OVERLOADED = /^Durable Object is overloaded\./;
/** Of the account as a whole: too many objects that are new or not in use, or too much storage work. */
const ACCOUNT_IS_SLOWED =
  /^Your account is (?:generating too much load on Durable Objects|doing too many concurrent storage operations)\./;
const RESET = /^Durable Object (?:reset because|storage operation exceeded timeout)|^Network connection lost/;

/** What SQLite says when the disk, not the statement, is at fault. */
const DISK = /\bSQLITE_(?:FULL|IOERR\w*|READONLY\w*|CANTOPEN\w*|NOMEM)\b/;
/** What the runtime says in the place of an error of its own, such as a commit that failed after the object's code ran. */
const RUNTIME = /^internal error; reference = /;

/** Clients of a slowed account come again after so many seconds, and up to so many more: not all at once. */
const SLOWED_SECONDS = 2;
const SLOWED_SPREAD = 6;

/**
 * The failure that a client gets for such an error; null for any other error. Clients try again, the service does not: the runtime has
 * repeated by itself what may be repeated, and anything more would be load on what has too much.
 */
export function failureOfPlatform(error: unknown): Failure | null {
  if (isStorageFailure(error)) return unavailable("the storage does not work now; try again", 5);
  if (isAccountSlowed(error)) return busy(SLOWED_SECONDS + Math.floor(Math.random() * SLOWED_SPREAD));
  return isRefusedCall(error) || isLostCall(error) ? busy(1) : null;
}

/**
 * True for a thrown error that stands for storage which does not work now: a full, failing or read-only disk. Nothing was
 * stored, and the same request may succeed later.
 */
export function isStorageFailure(error: unknown): boolean {
  return error instanceof Error && (DISK.test(error.message) || RUNTIME.test(error.message));
}

function isAccountSlowed(error: unknown): boolean {
  return ACCOUNT_IS_SLOWED.test(messageOf(error));
}

/** True when the platform refused a call before the object had it: nothing has happened. */
export function isRefusedCall(error: unknown): boolean {
  return isFlagged(error, "overloaded") || OVERLOADED.test(messageOf(error)) || isAccountSlowed(error);
}

/** True when the object was not there for a moment. The call may have happened or not. */
function isLostCall(error: unknown): boolean {
  return isFlagged(error, "retryable") || isFlagged(error, "durableObjectReset") || RESET.test(messageOf(error));
}

function busy(retryAfterSeconds: number): Failure {
  return unavailable("the service is busy; try again", retryAfterSeconds);
}

function isFlagged(error: unknown, flag: string): boolean {
  return typeof error === "object" && error !== null && Reflect.get(error, flag) === true;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}
