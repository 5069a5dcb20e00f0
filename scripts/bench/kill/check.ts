import { readNumber } from "./actions/numbers.ts";
import type { Client } from "./client.ts";
import { type Entry, expectedOf, type Ledger, mayContain } from "./ledger.ts";
import { isThere } from "./probe.ts";
import type { Kept } from "./writer-client.ts";

/** Questions in flight at once. */
const PARALLEL = 16;

/** Reads `entries` and all numbers from the server. Returns a sentence for each that is not as it was answered. */
export async function findBroken(
  root: Client,
  ledger: Ledger,
  entries: readonly Entry[],
  kept: ReadonlyMap<string, Kept>,
): Promise<string[]> {
  await readBack(root, ledger);
  const broken: string[] = [];
  await inParallel([...new Set(entries)], async (entry) => {
    const expected = expectedOf(entry);
    if (expected === "unknown") return;
    const found = await isThere(root, entry);
    if (found === undefined) broken.push(`whether a ${entry.kind} is there gets no clear answer`);
    else if (found !== (expected === "alive")) broken.push(`a ${entry.kind} that must be ${expected} is not`);
  });
  await inParallel([...ledger.numbers], async ([name, number]) => {
    const found = await readNumber(root, name, kept);
    if (!mayContain(number, found)) {
      broken.push(`${name}: ${found} is there, ${number.answered} was answered, ${number.sent} sent`);
    }
    number.sent = found;
    number.answered = found;
  });
  return broken;
}

/**
 * Reads back the writes that had no answer. None is under way any more: each has happened or not, and that must not
 * change from here on. In the order of the ledger, since a missing token says nothing while the end of its parent is
 * not known.
 */
async function readBack(root: Client, ledger: Ledger): Promise<void> {
  for (const entry of ledger.entries) {
    if (entry.ending !== "sent") continue;
    if (entry.parent && expectedOf(entry.parent) === "dead") continue;
    const found = await isThere(root, entry);
    if (found !== undefined) entry.ending = found ? "none" : "answered";
  }
}

/** Does `work` for all items, several at a time. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const take = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
  };
  await Promise.all(Array.from({ length: PARALLEL }, take));
}
