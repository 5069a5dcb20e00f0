import { useOfCopy } from "../../../src/system/copy-age.ts";
import { isEnded, type JudgedToken, pathScope } from "../../../src/system/watermarks.ts";
import { Isolate, LIMITS, PATIENCE_MS, SystemObject, type UseOfCopy } from "./copies.ts";
import { Random } from "./random.ts";
import { Timeline } from "./timeline.ts";
import { Violation } from "./violation.ts";

/** Length of a history (ms). */
const LENGTH_MS = 240_000;
const ISOLATES = 5;
const TREES = 4;
const PATHS = ["auth/cloud/login", "auth/token/create/ci", "auth/token/create"] as const;

interface Token extends JudgedToken {
  readonly tree: number;
  revoked: boolean;
}

/** A revocation by prefix that was answered. */
interface Revocation {
  readonly prefix: string;
  /** Tokens that were there when it was asked for. */
  readonly tokens: ReadonlySet<Token>;
  readonly answeredAt: number;
  readonly by: number;
}

/** What happened in a history, for the page. */
export interface RevocationCounts {
  readonly requests: number;
  readonly accepted: number;
  readonly revocations: number;
  readonly outages: number;
  /** The longest time after an answer in which a token was still accepted somewhere (ms). */
  readonly longestMs: number;
}

/**
 * Plays a history of requests, revocations and outages of the system object between isolates and trees that each have a copy of
 * their own, by the product's rules.
 *
 * @throws Violation when a token is accepted that must not be, or one is refused without a reason.
 */
export function playRevocations(seed: number, rule: UseOfCopy = useOfCopy): RevocationCounts {
  const random = new Random(seed);
  const timeline = new Timeline();
  const system = new SystemObject(timeline, random);
  const isolates = Array.from({ length: ISOLATES }, () => new Isolate(timeline, system, rule));
  // Trees run elsewhere, with copies that are refreshed only when they are asked.
  const trees = Array.from({ length: TREES }, () => new Isolate(timeline, system, rule));
  const tokens: Token[] = [];
  const revocations: Revocation[] = [];
  const counts = { requests: 0, accepted: 0, revocations: 0, outages: 0, longestMs: 0 };

  const create = () => {
    const tree = random.below(TREES);
    const path = random.pick(PATHS);
    isolates[random.below(ISOLATES)]?.load(
      (known) => {
        const record = { path, leased: true, entityId: "", createdAt: timeline.now, watermark: known.newest };
        trees[tree]?.loadSince(
          known.newest,
          (there) => {
            // The tree refuses to write what is ended already.
            if (!isEnded(there.all, record)) tokens.push({ ...record, tree, revoked: false });
          },
          () => {},
        );
      },
      () => {},
    );
  };

  const request = () => {
    const token = tokens[random.below(tokens.length)];
    const at = random.below(ISOLATES);
    if (!token) return;
    const began = timeline.now;
    const checkedAt = isolates[at]?.checkedAt ?? began;
    const mustBeRefused = revocations.filter((one) => one.tokens.has(token) && isInForce(one, at, began, system));
    const wasRevoked = token.revoked;
    counts.requests++;
    const judge = (accepted: boolean) => {
      if (!accepted) return;
      counts.accepted++;
      if (wasRevoked) throw new Violation("a revoked token is refused by its tree at once", began);
      const broken = mustBeRefused[0];
      if (broken)
        throw new Violation("a revocation by prefix is in force", began, { ...broken, tokens: undefined, at });
      for (const { tokens: ended, answeredAt } of revocations) {
        if (ended.has(token)) counts.longestMs = Math.max(counts.longestMs, began - answeredAt);
      }
    };
    const failed = () => {
      if (!hadOutage(system, began - LIMITS.maxAgeMs - LIMITS.graceMs, timeline.now)) {
        throw new Violation("a request fails only when the system object is away", began);
      }
      if (isInGrace(system, checkedAt, began)) {
        throw new Violation("requests go on while the system object is away", began, { at });
      }
    };
    isolates[at]?.load((known) => {
      trees[token.tree]?.loadSince(
        known.newest,
        (there) => judge(!token.revoked && !isEnded(there.all, token)),
        // A tree that was not asked for long, or is told of a watermark that it can't read, answers nothing.
        () => {},
      );
    }, failed);
  };

  const revokePrefix = () => {
    const at = random.below(ISOLATES);
    const isolate = isolates[at];
    const prefix = random.pick(["auth/cloud/", "auth/token/create/ci/", "auth/"] as const);
    const mark = { scope: pathScope(prefix), createdBefore: null, cleaned: false };
    const meant = new Set(tokens.filter((token) => `${token.path}/`.startsWith(prefix)));
    const began = timeline.now;
    system.write(mark, (known) => {
      isolate?.learn(known, began);
      counts.revocations++;
      revocations.push({ prefix, tokens: meant, answeredAt: timeline.now, by: at });
    });
  };

  const revokeOne = () => {
    const token = tokens[random.below(tokens.length)];
    if (token) token.revoked = true;
  };

  const leave = () => {
    system.leave(random.below(90_000));
    counts.outages++;
  };

  const happen = () => {
    const drawn = random.share();
    if (drawn < 0.7) request();
    else if (drawn < 0.9) create();
    else if (drawn < 0.95) revokeOne();
    else if (drawn < 0.99) revokePrefix();
    else leave();
    timeline.after(1 + random.below(400), happen);
  };
  timeline.after(0, happen);
  timeline.run(LENGTH_MS);
  return counts;
}

/**
 * Whether a revocation has to be in force in an isolate: in the one that carried it out at once, elsewhere within
 * POLICY_CACHE_SECONDS, and POLICY_GRACE_SECONDS later while the system object is away.
 */
function isInForce({ answeredAt, by }: Revocation, at: number, now: number, system: SystemObject): boolean {
  if (by === at) return true;
  const away = hadOutage(system, answeredAt, now);
  return now - answeredAt >= LIMITS.maxAgeMs + (away ? LIMITS.graceMs + PATIENCE_MS : 0);
}

function hadOutage(system: SystemObject, from: number, to: number): boolean {
  return system.outages.some((outage) => outage.from <= to && outage.to >= from);
}

/** Whether a copy that was last checked at `checkedAt` (ms) was good when the outage of this moment began, and the outage is shorter than the grace. */
function isInGrace(system: SystemObject, checkedAt: number, now: number): boolean {
  const outage = system.outages.findLast(({ from }) => from <= now);
  if (!outage || now - outage.from > LIMITS.graceMs) return false;
  return checkedAt >= outage.from - LIMITS.maxAgeMs;
}
