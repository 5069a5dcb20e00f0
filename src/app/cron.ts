import { WorkerEntrypoint } from "cloudflare:workers";
import { backupRunsOf } from "../backup/bucket/backup-runs.ts";
import type { Env } from "../env.ts";
import { loadInstallation } from "../system/installation.ts";
import { tidyOf } from "../tidy/tidy.ts";

/** What is done once an hour: begins the hourly tidy run, and a backup when one is due and there is a bucket for it. Nothing before the service is initialised, or while it is sealed. */
export async function hourly(env: Env): Promise<void> {
  const installation = await loadInstallation(env);
  if (!installation.ok) return;
  const begun = [tidyOf(env).startHourly(), ...(env.BACKUPS ? [backupRunsOf(env).startWhenDue()] : [])];
  // One that can't be begun keeps the other from nothing.
  const failed = (await Promise.allSettled(begun)).find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
}

/**
 * Stands for the cron trigger where workerd runs without the platform's: `npm run serve` sends a request once an hour, over a
 * socket that leads to this entrypoint alone and that only its own user can open (scripts/local/cron.ts).
 */
export class CronTrigger extends WorkerEntrypoint<Env> {
  override async fetch(): Promise<Response> {
    const work = hourly(this.env);
    // What was begun is finished, whatever becomes of the connection.
    this.ctx.waitUntil(work);
    await work;
    return new Response(null, { status: 204 });
  }
}
