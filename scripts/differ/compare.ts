import type { Answer } from "./server.ts";

/** One place where two answers differ. */
export interface Difference {
  /** `status`, or the path of a value in the body; items of lists as `[]`. */
  readonly where: string;
  /** JSON; "nothing" for what is not there. */
  readonly reference: string;
  readonly tested: string;
}

/** Values that each server chooses by itself: only whether there is one is compared. */
const OWN = new Set([
  ...["request_id", "client_token", "accessor", "wrapped_accessor", "token", "id", "uuid", "role_id", "namespace_id"],
  ...["entity_id", "canonical_id", "mount_accessor", "migration_id", "hash", "direct_group_ids", "group_ids"],
  // Of the server and its version, or of another method where the reference lacks the cloud's.
  ...["running_sha256"],
  ...[
    "creation_time",
    "expire_time",
    "issue_time",
    "last_renewal",
    "last_renewal_time",
    "last_update_time",
    "modified",
  ],
]);
/** Seconds that pass while both are asked. */
const COUNTING_DOWN = new Set(["ttl", "lease_duration"]);
const TOLERANCE_SECONDS = 5;

const OWN_TEXT =
  /^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|entity_[0-9a-f.rot]+|group_[0-9a-f.rot]+|auth_\w+_[0-9a-f]{8})$/;
const WRAPPED_ERROR = /^1 error occurred:\n\t\* (.*)\n\n$/s;

/** Where two answers differ. A refusal's text counts only with `texts`; the text that the reference puts around some never counts. */
export function differences(reference: Answer, tested: Answer, texts: boolean): Difference[] {
  if (reference.status !== tested.status) {
    return [{ where: "status", reference: statusText(reference), tested: statusText(tested) }];
  }
  const found: Difference[] = [];
  if (reference.status >= 400) {
    if (texts) compare("errors", errorsOf(reference.body), errorsOf(tested.body), found);
    return found;
  }
  compare("", reference.body, tested.body, found);
  return found;
}

function compare(where: string, reference: unknown, tested: unknown, found: Difference[]): void {
  const key = where.slice(where.lastIndexOf(".") + 1);
  if (isObject(reference) && isObject(tested)) {
    const [mine, theirs] = [entriesOf(reference), entriesOf(tested)];
    for (const name of new Set([...mine.keys(), ...theirs.keys()])) {
      compare(where === "" ? name : `${where}.${name}`, mine.get(name), theirs.get(name), found);
    }
    return;
  }
  if (Array.isArray(reference) && Array.isArray(tested) && reference.length === tested.length) {
    for (const [i, item] of reference.entries()) compare(`${where}[]`, item, tested[i], found);
    return;
  }
  if (areEqual(key.replace("[]", ""), reference, tested)) return;
  found.push({ where, reference: shown(reference), tested: shown(tested) });
}

function areEqual(key: string, reference: unknown, tested: unknown): boolean {
  if (COUNTING_DOWN.has(key) && typeof reference === "number" && typeof tested === "number") {
    return Math.abs(reference - tested) <= TOLERANCE_SECONDS;
  }
  if (OWN.has(key)) return kindOf(reference) === kindOf(tested);
  return canonical(reference) === canonical(tested);
}

/** What a client can rely on in a value that each server chooses: its type, and whether it is empty. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "[]" : "list";
  return value === null || value === undefined || value === "" || value === 0
    ? String(JSON.stringify(value))
    : typeof value;
}

/** Keys that each server chooses are all one. */
function entriesOf(value: Readonly<Record<string, unknown>>): Map<string, unknown> {
  return new Map(Object.entries(value).map(([name, item]) => [OWN_TEXT.test(name) ? "<own>" : name, item]));
}

function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, item) => (typeof item === "string" && OWN_TEXT.test(item) ? "<own>" : item)) ?? "nothing"
  );
}

function shown(value: unknown): string {
  const text = canonical(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function statusText(answer: Answer): string {
  const errors = errorsOf(answer.body);
  return errors.length > 0 ? `${answer.status} ${shown(errors.join("; "))}` : String(answer.status);
}

function errorsOf(body: unknown): string[] {
  const errors = isObject(body) ? body.errors : undefined;
  if (!Array.isArray(errors)) return [];
  return errors.map((error) => String(error).replace(WRAPPED_ERROR, "$1"));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
