let second = 0;
let text = "";

/** The `Date` header line of an answer given now (RFC 9110 section 6.6.1), made once a second. */
export function dateLine(now: number = Date.now()): string {
  const current = Math.floor(now / 1000);
  if (current !== second) {
    second = current;
    text = `Date: ${new Date(now).toUTCString()}`;
  }
  return text;
}
