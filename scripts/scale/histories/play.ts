import { amount } from "../../bench/report/numbers.ts";
import { markdownTable } from "../../bench/report/table.ts";
import { LIMITS } from "./copies.ts";
import { playLists } from "./lists.ts";
import { playNonces } from "./nonces.ts";
import { playRevocations } from "./revocations.ts";

/** Histories of lists take longer: one is played for so many of the others. */
const OTHERS_FOR_ONE_OF_LISTS = 5;

/** Plays histories with the seeds from `seed` on, and tells for the page what happened. A history that breaks a rule names its seed. */
export async function playHistories(seed: number, count: number): Promise<string> {
  const revocations = await playedAll(seeds(seed, count), playRevocations);
  const nonces = await playedAll(seeds(seed, count), playNonces);
  const lists = await playedAll(seeds(seed, Math.ceil(count / OTHERS_FOR_ONE_OF_LISTS)), playLists);
  const longest = Math.max(...revocations.map(({ longestMs }) => longestMs));
  const rows = [
    [
      "a token that was revoked by itself is refused by its tree at once; one that was revoked by prefix at once in the isolate that did it, elsewhere within POLICY_CACHE_SECONDS, with POLICY_GRACE_SECONDS more while `System` is away",
      `${amount(total(revocations, "requests"))} requests, ${amount(total(revocations, "revocations"))} revocations; the longest that a token lived on was ${amount(longest / 1000)} s of ${(LIMITS.maxAgeMs + LIMITS.graceMs) / 1000}`,
    ],
    [
      "no request fails in the grace of an isolate that had a good copy when `System` went away",
      `${amount(total(revocations, "outages"))} outages`,
    ],
    [
      "one nonce counts for an instance, a lost answer locks nobody out, and after the end of reauthentication nobody is let in",
      `${amount(total(nonces, "logins"))} logins, ${amount(total(nonces, "crashes"))} lost answers`,
    ],
    [
      "a list has a token two seconds after the answer at the latest, and after a crash or a call that failed when the alarm of its tree has come; none is missing at the end",
      `${amount(total(lists, "tokens"))} tokens, ${amount(total(lists, "crashes"))} crashes, ${amount(total(lists, "failedCalls"))} failed calls; the longest way without one took ${amount(Math.max(...lists.map(({ longestMs }) => longestMs)) / 1000)} s`,
    ],
  ];
  return [
    `Random histories of isolates, trees, shards and the \`System\` object, with calls that take their time, outages and crashes, decided by the product's own rules (\`src/system/copy-age.ts\`, \`watermarks.ts\`,
\`src/methods/cloud/access-list/rules.ts\`, \`src/tree/inventory/new-tokens.ts\`, \`src/tree/index/news-queue.ts\`). ${amount(count)} histories of each kind were played, of lists ${amount(lists.length)}, from seed ${seed} on; none broke a rule.`,
    markdownTable(["what holds", "in"], rows),
  ].join("\n\n");
}

function seeds(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => first + at);
}

async function playedAll<T>(seeds: readonly number[], play: (seed: number) => T | Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (const seed of seeds) {
    try {
      all.push(await play(seed));
    } catch (error) {
      throw new Error(`SEED=${seed}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return all;
}

function total<Name extends string>(all: readonly Readonly<Record<Name, number>>[], name: Name): number {
  return all.reduce((sum, one) => sum + one[name], 0);
}
