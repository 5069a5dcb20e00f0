/** What an input of the kind datetime-local shows for a time. */
export function localTime(value: string | undefined): string {
  const ms = Date.parse(value ?? "");
  if (Number.isNaN(ms)) return "";
  const here = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return here.toISOString().slice(0, 16);
}

/** The time that such an input has, as the API takes it. */
export function queryTime(local: string): string {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? "" : new Date(ms).toISOString();
}

/** The name of the time zone of this place: `UTC`, `GMT+1`. */
export const ZONE =
  new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts().find(({ type }) => type === "timeZoneName")
    ?.value ?? "local time";
