import { waitUntil } from "cloudflare:workers";
import { currentTime, sleep } from "../../base/clock.ts";
import { GenerationalCache } from "../../base/generational-cache.ts";
import type { Env } from "../../env.ts";
import type { Mount } from "../../system/mount.ts";
import type { GroveRequest } from "../../wire/request.ts";
import { mountOf } from "../method.ts";
import { showRoute } from "../record-routes.ts";
import type { Route } from "../route.ts";
import { INTERVAL_MS, REFUSALS_VIEW, type Refusal, timeToWait, withRefusals } from "./refusals.ts";

/** The object of a mount, which stores its refused logins. */
export interface RefusalStub {
  addRefusals(more: readonly Refusal[]): Promise<void>;
  refusals(): Promise<readonly Refusal[]>;
}

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
  { check, description, proven }: Pick<Refusal, "check" | "description" | "proven">,
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

/**
 * Defines `explain/refused` of an auth method: the recent refused logins of its mount.
 *
 * @param stubAt returns the object that stores them.
 * @param nameOf returns the name of a check in the vocabulary of the mount.
 */
export function refusedRoute(
  stubAt: (env: Env, mount: Mount) => RefusalStub,
  nameOf: (mount: Mount, check: string) => string = (_mount, check) => check,
): Route {
  return showRoute("explain/refused", {
    summary: "Shows the logins that were refused lately, by role and failing check.",
    operationId: "list-refused-logins",
    view: REFUSALS_VIEW,
    read: async (context) => {
      const mount = mountOf(context);
      const stub = stubAt(context.env, mount);
      // The answer includes the refusals that this isolate has not reported yet.
      await report(gatheredFor(mount.uuid), stub);
      const refusals = await stub.refusals();
      return { refusals, nameOf: (check) => nameOf(mount, check) };
    },
  });
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
