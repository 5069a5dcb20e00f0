/** `fields` without those that were not sent. */
export function onlySent<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** A value that may be named back in a message: short and plain, so that no secret and no markup travels with it. */
export function isPlainWord(text: string): boolean {
  return /^[\w-]{0,32}$/.test(text);
}
