/**
 * Logs a line about the normal work of the service, unless `LOG_LEVEL` is `error`. Faults and the audit log do not use
 * this function and are always written. The line must hold nothing secret.
 */
export function logInfo({ LOG_LEVEL }: { readonly LOG_LEVEL?: string }, line: Readonly<Record<string, unknown>>): void {
  if (LOG_LEVEL !== "error") console.log(JSON.stringify(line));
}
