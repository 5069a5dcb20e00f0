import { waitUntil } from "cloudflare:workers";
import { currentTime, formatRfc3339, type Ms, sleep } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import type { Env } from "../env.ts";
import type { Mount } from "../system/mount.ts";
import type { FailedCheck } from "../wire/audit.ts";
import type { GroveRequest } from "../wire/request.ts";
import { view } from "../wire/view.ts";
import { showRoute } from "./record-routes.ts";
import { mountOf, type Route } from "./route.ts";
import { unmetText } from "./unmet-checks.ts";

/** The refused logins of one role by one check. Contains nothing of a credential. */
export interface RefusedLogin {
  /** Name of an existing role; null when the login named none, or one that does not exist. */
  readonly role: string | null;
  readonly check: string;
  readonly description: string;
  /** True when the client had proved its identity: only clients of the issuer or the cloud can cause such refusals. */
  readonly proven: boolean;
  readonly count: number;
  readonly firstAt: Ms;
  readonly lastAt: Ms;
  /** Client address of the last refusal; null when the proxy in front did not send it. */
  readonly lastAddress: string | null;
}

/** Maximum number of rows of a mount. */
export const MAX_REFUSALS = 50;
/** Minimum time between two writes of a mount's rows, and between two reports of an isolate about a mount. */
export const INTERVAL_MS: Ms = 5_000;

/** Returns the delay of the next write or report. @param lastAt time of the last write or report, or `-Infinity`. */
export function timeToWait(lastAt: Ms, now: Ms): Ms {
  return Math.min(Math.max(lastAt + INTERVAL_MS - now, 0), INTERVAL_MS);
}

/**
 * Adds refusals to the known ones: one row for each role, check and `proven`. Above `MAX_REFUSALS` rows, unproven rows
 * are dropped first, the oldest of them first: a client without a proof can't evict the rows of clients that had one.
 */
export function withRefusals(known: readonly RefusedLogin[], more: readonly RefusedLogin[]): readonly RefusedLogin[] {
  const rows = new Map<string, RefusedLogin>();
  for (const one of [...known, ...more]) {
    const key = JSON.stringify([one.role, one.check, one.proven]);
    const before = rows.get(key) ?? { ...one, count: 0 };
    const last = one.lastAt >= before.lastAt ? one : before;
    rows.set(key, { ...last, count: before.count + one.count, firstAt: Math.min(before.firstAt, one.firstAt) });
  }
  const byWorth = [...rows.values()].sort((a, b) => Number(b.proven) - Number(a.proven) || b.lastAt - a.lastAt);
  return byWorth.slice(0, MAX_REFUSALS);
}

const REFUSAL_VIEW = view<RefusedLogin>({
  role: ["string | null", (refusal) => refusal.role],
  check: ["string", (refusal) => refusal.check],
  description: ["string", (refusal) => refusal.description],
  count: ["integer", (refusal) => refusal.count],
  first_time: ["string", (refusal) => formatRfc3339(refusal.firstAt)],
  last_time: ["string", (refusal) => formatRfc3339(refusal.lastAt)],
  last_address: ["string | null", (refusal) => refusal.lastAddress],
});

/** Refused logins in the answer, the most recent first. `nameOf` returns the name of a check as its mount calls it. */
export const REFUSALS_VIEW = view<{ refusals: readonly RefusedLogin[]; nameOf(check: string): string }>({
  refused: [
    [REFUSAL_VIEW.shape],
    ({ refusals, nameOf }) => {
      const lastFirst = [...refusals].sort((a, b) => b.lastAt - a.lastAt);
      return lastFirst.map((refusal) => REFUSAL_VIEW.show({ ...refusal, check: nameOf(refusal.check) }));
    },
  ],
});

/** The object of a mount, which stores its refused logins. */
export interface RefusalStub {
  addRefusals(more: readonly RefusedLogin[]): Promise<void>;
  refusals(): Promise<readonly RefusedLogin[]>;
}

interface Gathered {
  refusals: readonly RefusedLogin[];
  /** Time of the last report, and of the pending one; `-Infinity` for none. */
  reportedAt: Ms;
  dueAt: Ms;
}

/** Maximum number of mounts in one generation of the cache. */
const MAX_MOUNTS = 1_000;
/** Maximum length of the name of a check and of an address. Their sources (roles, headers) have no such bound. */
const MAX_TEXT = 128;
const MAX_DESCRIPTION = 256;
/** A pending report that is this late was cancelled with the request that scheduled it. */
const LOST_MS = 1_000;

const gathered = new GenerationalCache<string, Gathered>(MAX_MOUNTS);

/**
 * Records a refused login of a mount. The client does not wait for it. Anyone can cause refused logins, so this isolate
 * collects them and calls the mount's object at most once per `INTERVAL_MS`. Refusals that an isolate has not reported
 * when it ends are lost.
 * @param check has a bounded length, see `boundedCheck`.
 */
export function noteRefusal(
  { notes, clientAddress }: Pick<GroveRequest, "notes" | "clientAddress">,
  { uuid }: Pick<Mount, "uuid">,
  stub: RefusalStub,
  check: FailedCheck,
  proven: boolean,
): void {
  const now = currentTime();
  const refusal: RefusedLogin = {
    role: notes.roleExists ? (notes.role ?? null) : null,
    check: check.name,
    description: check.description,
    proven,
    count: 1,
    firstAt: now,
    lastAt: now,
    lastAddress: clientAddress?.slice(0, MAX_TEXT) ?? null,
  };
  const here = gatheredFor(uuid);
  here.refusals = withRefusals(here.refusals, [refusal]);
  if (here.dueAt >= now - LOST_MS && here.dueAt <= now + INTERVAL_MS) return;
  const wait = timeToWait(here.reportedAt, now);
  here.dueAt = now + wait;
  waitUntil(sleep(wait).then(() => report(here, stub)));
}

/**
 * Returns a failed check with texts of a bounded length. It says what is wrong: the description of the check says what
 * holds when it passes.
 */
export function boundedCheck({ name, description }: FailedCheck): FailedCheck {
  return { name: name.slice(0, MAX_TEXT), description: (unmetText(name) || description).slice(0, MAX_DESCRIPTION) };
}

/** Defines `explain/refused` of an auth method. @param nameOf returns the name of a check as the mount calls it. */
export function refusedRoute(
  stubAt: (env: Env, mount: Mount) => RefusalStub,
  nameOf: (mount: Mount, check: string) => string = (_mount, check) => check,
): Route {
  return showRoute("explain/refused", {
    summary: "Shows recent refusals, by role and failing check.",
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
