import type { Seconds } from "./clock.ts";
import { type Failure, unavailable } from "./result.ts";
import { storageFaults } from "./storage-faults.ts";

/*
 * Errors that the platform throws when it does not carry out a call to an object, and errors of storage. An error that
 * was passed on by another object has lost its flags, so messages are matched too: those of Cloudflare's page on
 * troubleshooting.
 */

const OVERLOADED = /^Durable Object is overloaded\./;
/** Limits of the account as a whole: too many objects that are new or not in use, or too much storage work. */
const ACCOUNT_IS_SLOWED =
  /^Your account is (?:generating too much load on Durable Objects|doing too many concurrent storage operations)\./;
const RESET = /^Durable Object (?:reset because|storage operation exceeded timeout)|^Network connection lost/;
/** In a cluster: another node took the object while this one opened it or wrote to it. */
const SUPERSEDED = /\btakeover failed: |\bepoch \d+ was superseded\b/;

const MISSING_METHOD = /^The RPC receiver does not implement the method\b/;

/** Codes of SQLite errors that the disk causes, not the statement. */
const DISK = /\bSQLITE_(?:FULL|IOERR\w*|READONLY\w*|CANTOPEN\w*|NOMEM)\b/;
/** The code of a full disk. */
const FULL = /\bSQLITE_FULL\b/;
/** Codes for a file that is no database any more, or that has lost parts: no other request succeeds there. */
const DAMAGED = /\bSQLITE_(?:CORRUPT\w*|NOTADB)\b/;
/** Message of an internal error of the runtime, such as a commit that failed after the object's code ran. */
const RUNTIME = /^internal error; reference = /;

/** Retry-After when the account is slowed, and its random addition: clients must not retry all at once. */
const SLOWED_SECONDS = 2;
const SLOWED_SPREAD = 6;

/**
 * Returns the failure for an error of the platform; null for any other error. The client retries, the service does not:
 * the runtime has already retried calls that are safe to repeat, and more retries would add load to an overloaded
 * object or account.
 */
export function failureOfPlatform(error: unknown): Failure | null {
  if (DAMAGED.test(messageOf(error))) return DAMAGED_DATABASE;
  if (isStorageFailure(error)) return failureOfStorage(messageOf(error));
  if (isAccountSlowed(error)) return busy(SLOWED_SECONDS + Math.floor(Math.random() * SLOWED_SPREAD));
  if (isMissingMethod(error))
    return unavailable("an upgrade of the service is under way; try again when it is complete", 5);
  return isRefusedCall(error) || isLostCall(error) ? LOST : null;
}

/** True when an error is of a damaged database. */
export function isDamaged(error: unknown): boolean {
  const failure = failureOfPlatform(error);
  return failure?.code === "unavailable" && failure.fault === "database_damaged";
}

/** Returns the answer of a call; null when it failed because a database is damaged. */
export function unlessDamaged<T>(call: Promise<T>): Promise<T | null> {
  return nullOn(isDamaged, call);
}

/** Returns the answer of a call; null when the storage of the object fails, of which a damaged database is one cause. */
export function unlessStorageFails<T>(call: Promise<T>): Promise<T | null> {
  // The runtime hides at first that a database is damaged.
  return nullOn((error) => isStorageFailure(error) || isDamaged(error), call);
}

/** Returns the answer of a call; null when the object still runs a release without the method. */
export function unlessMethodIsMissing<T>(call: Promise<T>): Promise<T | null> {
  return nullOn(isMissingMethod, call);
}

async function nullOn<T>(isCause: (error: unknown) => boolean, call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (isCause(error)) return null;
    throw error;
  }
}

const DAMAGED_DATABASE = unavailable(
  "a database of the service is damaged: the server's log names its file",
  60,
  "database_damaged",
);
const FULL_DISK = unavailable(
  "the disk of the service is full: nothing can be stored until there is space",
  5,
  "disk_full",
);

/** The runtime often hides which fault of the disk it was; then what the server has found out is the best answer. */
function failureOfStorage(message: string): Failure {
  const { damaged, isFull } = storageFaults();
  if (FULL.test(message) || (RUNTIME.test(message) && isFull)) return FULL_DISK;
  if (RUNTIME.test(message) && damaged.length > 0) return DAMAGED_DATABASE;
  return unavailable("the storage does not work now; try again", 5);
}

/**
 * True when the object was reset or could not be reached for a moment: the call may have taken effect or not. False when
 * the platform refused it.
 */
export function isLostCall(error: unknown): boolean {
  if (isRefusedCall(error)) return false;
  const isReset = isFlagged(error, "retryable") || isFlagged(error, "durableObjectReset");
  return isReset || RESET.test(messageOf(error)) || SUPERSEDED.test(messageOf(error));
}

/** Begins like a lost call, because an error that another object passes on keeps its message alone. */
const GIVEN_UP = "Network connection lost, repeatedly: ";

/** Returns the error of a lost call that was repeated in vain. It is a lost call too. */
export function givenUp(error: unknown): Error {
  return new Error(`${GIVEN_UP}${messageOf(error)}`, { cause: error });
}

/** True for a lost call that an object behind the called one has repeated in vain. */
export function isGivenUp(error: unknown): boolean {
  return messageOf(error).startsWith(GIVEN_UP);
}

/**
 * True for an error of the storage: a full, failing or read-only disk. Nothing was stored, and the same request may
 * succeed later.
 */
export function isStorageFailure(error: unknown): boolean {
  return error instanceof Error && (DISK.test(error.message) || RUNTIME.test(error.message));
}

/** True when the object runs a release without the called method: releases are mixed for a while in an upgrade. */
export function isMissingMethod(error: unknown): boolean {
  return MISSING_METHOD.test(messageOf(error));
}

function isAccountSlowed(error: unknown): boolean {
  return ACCOUNT_IS_SLOWED.test(messageOf(error));
}

/** True when the platform refused a call before the object received it: nothing was changed. */
export function isRefusedCall(error: unknown): boolean {
  return isFlagged(error, "overloaded") || OVERLOADED.test(messageOf(error)) || isAccountSlowed(error);
}

/** The answer to a request whose call was lost. */
export const LOST: Failure = busy(1);

function busy(retryAfterSeconds: Seconds): Failure {
  return unavailable("the service is busy; try again", retryAfterSeconds);
}

function isFlagged(error: unknown, flag: string): boolean {
  return typeof error === "object" && error !== null && Reflect.get(error, flag) === true;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}
