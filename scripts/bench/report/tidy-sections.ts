import type { Paging, TidyRun } from "../cases/tidy.ts";
import { amount } from "./numbers.ts";
import type { Section } from "./sections.ts";

/** Runs of tidy beside look-ups. */
export function tidySection(runs: readonly TidyRun[]): Section {
  return {
    name: "tidy",
    part: "tidy",
    title: "Tidy, with look-ups beside it",
    header: [
      "accessors in",
      "listed",
      "without a token",
      "removed",
      "wrongly left, removed",
      "seconds",
      "p50 before, during (ms)",
      "p99 before, during, worst (ms)",
      "memory before, most (MiB)",
    ],
    rows: runs.map((run) => [
      run.where,
      amount(run.accessors),
      amount(run.dangling),
      amount(run.removed),
      `${amount(run.left)}, ${amount(run.lost)}`,
      amount(run.seconds),
      `${amount(run.before.p50)}, ${amount(run.during.p50)}`,
      `${amount(run.before.p99)}, ${amount(run.during.p99)}, ${amount(run.worstP99)}`,
      `${amount(run.memoryBefore)}, ${amount(run.memoryMost)}`,
    ]),
  };
}

/** Listing page by page. */
export function pagingSection(paging: Paging): Section {
  return {
    name: "listing",
    part: "tidy",
    title: "Listing accessors page by page",
    header: [
      "accessors",
      "page",
      "first pages (ms)",
      "last pages (ms)",
      "slowest (ms)",
      "memory before, once, again (MiB)",
    ],
    rows: [
      [
        amount(paging.accessors),
        amount(paging.page),
        amount(paging.firstMs),
        amount(paging.lastMs),
        amount(paging.worstMs),
        `${amount(paging.memoryBefore)}, ${amount(paging.memoryOnce)}, ${amount(paging.memoryAgain)}`,
      ],
    ],
  };
}
