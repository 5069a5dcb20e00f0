/** The minute of the hour at which the cron trigger of wrangler.toml fires. */
export const CRON_MINUTE = 17;

/** Longest wait for the cron trigger's answer (ms). */
export const CRON_MS = 60_000;

const HOUR_MS = 3_600_000;

/** The number of the hour since 1970 of a time in ms. */
export function hourOf(now: number): number {
  return Math.floor(now / HOUR_MS);
}

/** Time from `now` to the next firing of the cron trigger; both in ms. */
export function untilCron(now: number): number {
  return HOUR_MS - ((now + HOUR_MS - CRON_MINUTE * 60_000) % HOUR_MS);
}

/**
 * Calls `trigger` once an hour, in place of the platform's cron.
 *
 * @param trigger resolves to false when the Worker failed; the next hour tries again.
 * @returns a function that ends it
 */
export function startCron(trigger: () => Promise<boolean>, say: (problem: string) => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    timer = setTimeout(async () => {
      wait();
      if (!(await trigger())) say("the hourly tidy run could not be begun; it is tried again in an hour");
    }, untilCron(Date.now()));
  };
  wait();
  return () => clearTimeout(timer);
}
