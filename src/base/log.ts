/**
 * Writes a line about the ordinary work of the service, unless `LOG_LEVEL` is `error`. Faults and the audit log are written
 * whatever it says. Nothing secret may be in it.
 */
export function logInfo(
  { LOG_LEVEL: level }: { readonly LOG_LEVEL?: string },
  line: Readonly<Record<string, unknown>>,
): void {
  if (level !== "error") console.log(JSON.stringify(line));
}
