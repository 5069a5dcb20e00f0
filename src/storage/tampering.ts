import type { RowPlace } from "../crypto/row-keys.ts";

/** Rows whose tampering was reported since the isolate began: each is reported once, however often it is asked for. */
const reported = new Set<string>();
const MAX_REPORTED = 10_000;

/** Writes to the log that a row was made or changed by somebody who has no keys. The row is refused. */
export function reportTampering({ kind, object, row }: RowPlace): void {
  const key = JSON.stringify([kind, object, row]);
  if (reported.has(key) || reported.size >= MAX_REPORTED) return;
  reported.add(key);
  console.error(JSON.stringify({ type: "tampering", kind, object, row }));
}
