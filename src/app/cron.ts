import { WorkerEntrypoint } from "cloudflare:workers";
import { countLive } from "../api/sys/metrics.ts";
import { backupRunsOf } from "../backup/bucket/backup-runs.ts";
import { currentTime, parseRfc3339 } from "../base/clock.ts";
import { noteDamaged, noteDiskSpace, noteOldData } from "../base/storage-faults.ts";
import { groveVersion } from "../base/version.ts";
import type { Env } from "../env.ts";
import { revocationsOf } from "../listing/inventory/revocation-jobs.ts";
import { NO_TRAFFIC } from "../metrics/traffic.ts";
import { loadInstallation } from "../system/installation.ts";
import { tidyOf } from "../tidy/tidy.ts";

/**
 * The hourly work: begins the tidy run, and a backup if one is due and a bucket is configured, sets a lost alarm of a
 * revocation again, and counts tokens and leases for the history. Does nothing while the service is sealed or not
 * initialized.
 *
 * @throws when an object that it needs does not answer: the next hour tries again
 */
export async function hourly(env: Env): Promise<void> {
  const installation = await loadInstallation(env);
  if (!installation.ok) {
    if (installation.error.code === "unavailable") throw new Error(installation.error.message);
    return;
  }
  const begun = [
    tidyOf(env).startHourly(),
    revocationsOf(env).goOn(),
    ...(env.BACKUPS ? [backupRunsOf(env).startWhenDue()] : []),
    noteLiveCounts(env),
  ];
  // If one fails, the others are begun anyway.
  const failed = (await Promise.allSettled(begun)).find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
}

/** Counts tokens and leases for the history. A failure leaves the hour without them. */
async function noteLiveCounts(env: Env): Promise<void> {
  try {
    await tidyOf(env).keepHistory(currentTime(), NO_TRAFFIC, await countLive(env));
  } catch (error) {
    console.error(JSON.stringify({ type: "history", error: String(error) }));
  }
}

const MAX_NODE_NAME = 300;

/**
 * Replaces the cron trigger of Cloudflare's network. `npm run serve` sends a request once an hour, over a socket that
 * leads only to this entrypoint and that only the user of the server can open (scripts/local/cron.ts).
 */
export class CronTrigger extends WorkerEntrypoint<Env> {
  override async fetch(request: Request): Promise<Response> {
    const work = this.#workOf(new URL(request.url));
    // The work continues if the connection ends.
    this.ctx.waitUntil(work);
    await work;
    return new Response(null, { status: 204 });
  }

  /**
   * A cluster node calls `/up` once a minute, `/leaving` before it hands over its objects, and `/left` when it stops. A
   * server that sees a fault of its disk, or old data, calls `/storage-faults`. Any other path runs the hourly work.
   */
  async #workOf({ pathname, searchParams }: URL): Promise<void> {
    if (pathname === "/storage-faults") {
      const isFull = searchParams.get("full");
      if (isFull !== null) noteDiskSpace(isFull === "true", currentTime());
      // The job goes on, although no client looks at it.
      if (isFull === "false") await revocationsOf(this.env).goOn();
      const servedAt = parseRfc3339(searchParams.get("last_served") ?? "");
      if (servedAt !== null) noteOldData({ servedAt, isCopy: searchParams.get("copy") === "true" });
      return noteDamaged(searchParams.getAll("damaged"));
    }
    if (pathname === "/leaving") return this.env.deployment.moves?.leave();
    const node = (searchParams.get("node") ?? "").slice(0, MAX_NODE_NAME);
    if (pathname !== "/up" && pathname !== "/left") return hourly(this.env);
    if (!(await loadInstallation(this.env)).ok) return;
    if (pathname === "/up") await tidyOf(this.env).nodeSeen(node, groveVersion(this.env));
    else await tidyOf(this.env).nodeLeft(node);
  }
}
