import { waitUntil } from "cloudflare:workers";
import { currentTime, sleep } from "../../base/clock.ts";
import { GenerationalCache } from "../../base/generational-cache.ts";
import type { Mount } from "../../system/mount.ts";
import type { GroveRequest } from "../../wire/request.ts";
import { INTERVAL_MS, type Refusal, timeToWait, withRefusals } from "./refusals.ts";

/** The object of a mount, which keeps its refused logins. */
export interface RefusalStub {
  addRefusals(more: readonly Refusal[]): Promise<void>;
  refusals(): Promise<readonly Refusal[]>;
}

/** The check that refused a login. */
export type FailedCheck = Pick<Refusal, "check" | "description" | "proven">;

/** What an isolate has gathered for a mount. */
interface Gathered {
  refusals: readonly Refusal[];
  /** When it reported last, and when it will (ms). */
  reportedAt: number;
  dueAt: number;
}

/** Mounts in one generation. */
const MAX_MOUNTS = 1_000;
/** Longest name of a check that is kept, and longest address: both come from rows and headers without such a bound. */
const MAX_TEXT = 128;
/** The same for what a check says. */
const MAX_DESCRIPTION = 256;
/** A report that is so late (ms) has ended with the request that was to make it. */
const LOST_MS = 1_000;

const gathered = new GenerationalCache<string, Gathered>(MAX_MOUNTS);

/**
 * Keeps a refused login of a mount. Costs its client no time. Anybody can have logins refused, so this isolate gathers them and calls the
 * mount's object once in `INTERVAL_MS` at most; refusals of the last moments before an isolate ends are lost.
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

/** The refused logins of a mount, with those that this isolate has gathered. */
export async function readRefusals({ uuid }: Pick<Mount, "uuid">, stub: RefusalStub): Promise<readonly Refusal[]> {
  await report(gatheredFor(uuid), stub);
  return stub.refusals();
}

/** Reports what was gathered. What can't be reported now goes with the next report. */
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
