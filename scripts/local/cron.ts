/** The minute of the hour at which the cron trigger of wrangler.toml fires. */
export const CRON_MINUTE = 17;

/** How long the Worker may take to begin what the cron trigger is for. */
export const CRON_MS = 60_000;

const HOUR_MS = 3_600_000;

/** Time from `now` to the next firing of the cron trigger; both in ms. */
export function untilCron(now: number): number {
  return HOUR_MS - ((now + HOUR_MS - CRON_MINUTE * 60_000) % HOUR_MS);
}

/**
 * Stands for the platform's cron, which does not exist on one machine: calls `trigger` once an hour.
 *
 * @param trigger resolves to false when the Worker did not do what it was asked for. Nothing is lost: the next hour asks again.
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
