import { readFileSync } from "node:fs";
import { join } from "node:path";

/** One of the conformance lists. */
export interface ConformanceList {
  /** With what the names of its lines start; the last list has the numbers of advisories. */
  readonly prefix: string;
  readonly title: string;
  /** Where its rules come from. */
  readonly source: string;
  /** The rule of each line by its name. */
  readonly lines: Readonly<Record<string, string>>;
}

/** The lists, in the order of the page. */
export const LISTS: readonly ConformanceList[] = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../conformance/lines.json"), "utf8"),
);

/** The name of every line. */
export const LINES: readonly string[] = LISTS.flatMap(({ lines }) => Object.keys(lines));

/** Why a line has no test, or what is different about it here. */
export const ABSENT: Readonly<Record<string, string>> = {
  T5: "an unknown caller is refused before any rule of creation runs (403 `permission denied`)",
  T10: "there is one form of token; `s.` is its prefix",
  T49: "there is one format of accessor rows",
  T50: "there is one namespace",
  T62: "the mark and the cubbyhole are rows of one database; a sweep that fails is repeated",
  T63: "there is one namespace",
  T65: "a spent token is refused at once, to look-ups by others too; only the request that spends it sees -1",
  T85: "every token is kept as HMAC-SHA256, chosen ids too",
  T86: "there are no older formats",
  T87: "expiry is a predicate, so nothing has to be revoked at start",
  H1: "there is no seal; the rest is shown by the tests of errors",
  H5: "cross-origin requests are off and can't be turned on",
  H17: "relative paths are always refused",
  H18: "only the service itself makes tokens",
  H19: "there is one namespace",
  X8: "no engine here chooses the period of a lease",
  X16: "nothing has to be restored at start: leases are rows, and expiry is a predicate",
  X20: "there are no workers to count",
  "CVE-2025-54999": "there is no password method; tokens and accessors are checked by a keyed hash, known or not",
  "CVE-2026-46358": "there is no login inside of other requests",
  "GHSA-rh46": "there is no login inside of other requests",
  "GHSA-34fc": "there are no recovery tokens; every secret is compared in constant time",
};
