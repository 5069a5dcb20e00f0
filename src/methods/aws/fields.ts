/** `fields`, which are JSON, without those that were not sent: JSON leaves out what is undefined. */
export function onlySent<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return JSON.parse(JSON.stringify(fields));
}

/** A value that may be named back in a message: short and plain, so that no secret and no markup travels with it. */
export function isPlainWord(text: string): boolean {
  return /^[\w-]{0,32}$/.test(text);
}
