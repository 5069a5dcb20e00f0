import { waitUntil } from "cloudflare:workers";
import { currentTime, sleep } from "../../base/clock.ts";
import { GenerationalCache } from "../../base/generational-cache.ts";
import type { Mount } from "../../system/mount.ts";
import type { GroveRequest } from "../../wire/request.ts";
import { INTERVAL_MS, type Refusal, timeToWait, withRefusals } from "./refusals.ts";

/** The object of a mount, which stores its refused logins. */
export interface RefusalStub {
  addRefusals(more: readonly Refusal[]): Promise<void>;
  refusals(): Promise<readonly Refusal[]>;
}

/** The check that refused a login. */
export type FailedCheck = Pick<Refusal, "check" | "description" | "proven">;

/** The refusals of a mount that this isolate has collected and not reported yet. */
interface Gathered {
  refusals: readonly Refusal[];
  /** Time (ms) of the last report, and of the pending one; `-Infinity` for none. */
  reportedAt: number;
  dueAt: number;
}

/** Maximum number of mounts in one generation of the cache. */
const MAX_MOUNTS = 1_000;
/** Maximum length of the name of a check and of an address. Their sources (roles, headers) have no such bound. */
const MAX_TEXT = 128;
/** Maximum length of the description of a check. */
const MAX_DESCRIPTION = 256;
/** A pending report that is this late (ms) was cancelled with the request that scheduled it. */
const LOST_MS = 1_000;

const gathered = new GenerationalCache<string, Gathered>(MAX_MOUNTS);

/**
 * Records a refused login of a mount. The client does not wait for it. Anyone can cause refused logins, so this isolate
 * collects them and calls the mount's object at most once per `INTERVAL_MS`. Refusals that an isolate has not reported
 * when it ends are lost.
 */
export function noteRefusal(
  { notes, clientAddress }: Pick<GroveRequest, "notes" | "clientAddress">,
  { uuid }: Pick<Mount, "uuid">,
  stub: RefusalStub,
  { check, description, proven }: FailedCheck,
): void {
  const now = currentTime();
  const refusal: Refusal = {
    role: notes.roleExists ? (notes.role ?? null) : null,
    check: check.slice(0, MAX_TEXT),
    description: description.slice(0, MAX_DESCRIPTION),
    proven,
    count: 1,
    firstAt: now,
    lastAt: now,
    lastAddress: clientAddress?.slice(0, MAX_TEXT) ?? null,
  };
  const here = gatheredFor(uuid);
  here.refusals = withRefusals(here.refusals, [refusal]);
  const waits = here.dueAt >= now - LOST_MS && here.dueAt <= now + INTERVAL_MS;
  if (waits) return;
  const wait = timeToWait(here.reportedAt, now);
  here.dueAt = now + wait;
  waitUntil(sleep(wait).then(() => report(here, stub)));
}

/** Returns the refused logins of a mount, including those that this isolate has not reported yet. */
export async function readRefusals({ uuid }: Pick<Mount, "uuid">, stub: RefusalStub): Promise<readonly Refusal[]> {
  await report(gatheredFor(uuid), stub);
  return stub.refusals();
}

/** Reports the collected refusals. If the call fails, the next report contains them. */
async function report(here: Gathered, stub: RefusalStub): Promise<void> {
  const { refusals } = here;
  here.dueAt = Number.NEGATIVE_INFINITY;
  if (refusals.length === 0) return;
  here.refusals = [];
  here.reportedAt = currentTime();
  try {
    await stub.addRefusals(refusals);
  } catch {
    here.refusals = withRefusals(refusals, here.refusals);
  }
}

function gatheredFor(mount: string): Gathered {
  const never = Number.NEGATIVE_INFINITY;
  const here = gathered.get(mount) ?? { refusals: [], reportedAt: never, dueAt: never };
  gathered.set(mount, here, 1);
  return here;
}
