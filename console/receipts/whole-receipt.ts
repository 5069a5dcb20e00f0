import type { EndedCheck, EndedPage, Receipt } from "../../client/answers.d.ts";
import { type Answer, done } from "../result.ts";

/** Most pages, of `MOST_NAMED` tokens each, that are read in a row. */
export const MOST_PAGES = 120;

type Ask<T> = (after: string) => Promise<Answer<T>>;
/** Gets the number of tokens read so far; returns false to stop. */
export type Progress = (read: number) => boolean;

/** The receipt of the first page with the accessors of all pages; `next` is set when there are more than `MOST_PAGES`. */
export const wholeReceipt = (ask: Ask<Receipt>, progress: Progress): Promise<Answer<Receipt>> =>
  joined(
    ask,
    (all, page) => ({
      ...all,
      accessors: all.accessors.concat(page.accessors),
      unrevoked_leases: sumOf(all.unrevoked_leases, page.unrevoked_leases),
      next: page.next,
    }),
    (all) => progress(all.accessors.length),
  );

/** The sum of the checks of all pages; `next` is set when there are more than `MOST_PAGES`. */
export const wholeCheck = (ask: Ask<EndedCheck>, progress: Progress): Promise<Answer<EndedCheck>> =>
  joined(
    ask,
    (all, page) => ({
      checked: all.checked + page.checked,
      ended: all.ended + page.ended,
      unknown: all.unknown + page.unknown,
      alive: all.alive.concat(page.alive),
      unanswered: all.unanswered.concat(page.unanswered),
      unrevoked_leases: sumOf(all.unrevoked_leases, page.unrevoked_leases),
      next: page.next,
    }),
    (all) => progress(all.checked),
  );

/** The ended tokens of all pages; `next` is set when there are more than `MOST_PAGES`. */
export const wholeEnded = (ask: Ask<EndedPage>, progress: Progress): Promise<Answer<EndedPage>> =>
  joined(
    ask,
    (all, page) => ({
      tokens: all.tokens.concat(page.tokens),
      next: page.next,
      scanned: all.scanned + page.scanned,
    }),
    (all) => progress(all.tokens.length),
  );

/** Most failures of leases that are collected from all pages. */
const MOST_FAILURES = 100;

export type Unrevoked = EndedCheck["unrevoked_leases"];

const sumOf = (all: Unrevoked, page: Unrevoked): Unrevoked => ({
  waiting: all.waiting + page.waiting,
  failing: all.failing + page.failing,
  removed: all.removed + page.removed,
  more: all.more || page.more,
  failures: all.failures.concat(page.failures).slice(0, MOST_FAILURES),
});

async function joined<T extends { readonly next: string }>(
  ask: Ask<T>,
  join: (all: T, page: T) => T,
  goesOn: (all: T) => boolean,
): Promise<Answer<T>> {
  const first = await ask("");
  if (!first.ok) return first;
  let all = first.value;
  // A page can be empty although more pages follow.
  for (let pages = 1; goesOn(all) && all.next !== "" && pages < MOST_PAGES; pages++) {
    const page = await ask(all.next);
    if (!page.ok) return page;
    all = join(all, page.value);
  }
  return done(all);
}
