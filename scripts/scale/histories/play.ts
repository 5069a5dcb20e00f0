import { amount } from "../../bench/report/numbers.ts";
import { markdownTable } from "../../bench/report/table.ts";
import { LIMITS } from "./copies.ts";
import { playNonces } from "./nonces.ts";
import { playRevocations } from "./revocations.ts";

/** Plays histories with the seeds from `seed` on, and tells for the page what happened. A history that breaks a rule names its seed. */
export function playHistories(seed: number, count: number): string {
  const revocations = seeds(seed, count).map((one) => played(one, playRevocations));
  const nonces = seeds(seed, count).map((one) => played(one, playNonces));
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
  ];
  return [
    `Random histories of isolates, trees and the \`System\` object, with calls that take their time, outages and crashes, decided by the product's own rules (\`src/system/copy-age.ts\`, \`watermarks.ts\`,
\`src/methods/cloud/access-list/rules.ts\`). ${amount(count)} histories of each kind were played, from seed ${seed} on; none broke a rule.`,
    markdownTable(["what holds", "in"], rows),
  ].join("\n\n");
}

function seeds(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => first + at);
}

function played<T>(seed: number, play: (seed: number) => T): T {
  try {
    return play(seed);
  } catch (error) {
    throw new Error(`SEED=${seed}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function total<Name extends string>(all: readonly Readonly<Record<Name, number>>[], name: Name): number {
  return all.reduce((sum, one) => sum + one[name], 0);
}
