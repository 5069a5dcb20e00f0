import { WorkerEntrypoint } from "cloudflare:workers";
import { backupRunsOf } from "../backup/bucket/backup-runs.ts";
import type { Env } from "../env.ts";
import { loadInstallation } from "../system/installation.ts";
import { tidyOf } from "../tidy/tidy.ts";

/**
 * The hourly work: begins the tidy run, and a backup if one is due and a bucket is configured. Does nothing while the
 * service is sealed or not initialized.
 */
export async function hourly(env: Env): Promise<void> {
  const installation = await loadInstallation(env);
  if (!installation.ok) return;
  const begun = [tidyOf(env).startHourly(), ...(env.BACKUPS ? [backupRunsOf(env).startWhenDue()] : [])];
  // If one fails, the other is begun anyway.
  const failed = (await Promise.allSettled(begun)).find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
}

/**
 * Replaces the cron trigger of Cloudflare's network. `npm run serve` sends a request once an hour, over a socket that
 * leads only to this entrypoint and that only the user of the server can open (scripts/local/cron.ts).
 */
export class CronTrigger extends WorkerEntrypoint<Env> {
  override async fetch(): Promise<Response> {
    const work = hourly(this.env);
    // The work continues if the connection ends.
    this.ctx.waitUntil(work);
    await work;
    return new Response(null, { status: 204 });
  }
}
