/** The lists, in the order of the page. */
export const LISTS: readonly { readonly prefix: string; readonly title: string }[] = [
  { prefix: "T", title: "Token method (T)" },
  { prefix: "H", title: "HTTP and system (H)" },
  { prefix: "A", title: "Access control (A)" },
  { prefix: "P", title: "Policies (P)" },
  { prefix: "C", title: "Capabilities (C)" },
  { prefix: "X", title: "Leases (X)" },
  { prefix: "S", title: "Holes of published cloud methods (S)" },
  { prefix: "CVE", title: "Published holes of the reference servers" },
];

const COUNTS: Readonly<Record<string, number>> = { T: 88, H: 20, A: 23, P: 13, C: 1, X: 21, S: 22 };

const HOLES = [
  "CVE-2025-54996",
  "CVE-2025-64761",
  "CVE-2024-9180",
  "CVE-2025-59043",
  "CVE-2025-4166",
  "CVE-2025-52893",
  "CVE-2025-62513",
  "CVE-2025-62705",
  "CVE-2025-54997",
  "CVE-2025-54998",
  "CVE-2025-54999",
  "CVE-2025-52894",
  "CVE-2026-5807",
  "CVE-2026-3605",
  "CVE-2026-40264",
  "CVE-2026-45808",
  "CVE-2026-46405",
  "CVE-2026-46358",
  "GHSA-rh46",
  "GHSA-xp3c",
  "GHSA-59w7",
  "GHSA-34fc",
  "GHSA-mwr2",
];

/** Every line. */
export const LINES: readonly string[] = [
  ...Object.entries(COUNTS).flatMap(([prefix, count]) => Array.from({ length: count }, (_, i) => `${prefix}${i + 1}`)),
  ...HOLES,
];

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
  H9: "nothing reads request fields into the audit log, so there are no such keys",
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
