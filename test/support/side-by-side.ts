import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The longest: in a fresh clone no run has measured them, and one that began last would run alone. */
const LONG = [
  "e2e/(serve|move|cluster|console|console-(reach|sign-in|incident|edits|oidc|timeline|set-up|live)|readme|wrangler-dev|dev|declared-start|durability|packages)",
  "workers/(app/(malformed-requests|null-fields|written-back)|inventory/(index|revoke)|token/tidy|backup/restore|methods/aws/outage)",
].map((names) => new RegExp(`/test/${names}\\.test\\.ts$`));

/**
 * The order of test files. Vitest runs one project after the other; here those of a group mix. Its end-to-end tests begin, which wait
 * for servers and pages. Those in the Workers runtime follow without a gap: a runtime is only kept for a next file of its project.
 * In each project the longest go first, as known from the last run.
 */
export class SideBySide extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification): readonly number[] => [
      project.config.sequence.groupOrder,
      project.name === "e2e" ? 0 : 1,
      project.config.isolate ? 0 : 1,
      LONG.some((names) => names.test(moduleId)) ? 0 : 1,
    ];
    return (await super.sort(files))
      .map((file) => ({ file, rank: rank(file) }))
      .sort((a, b) => a.rank.map((place, at) => place - (b.rank[at] ?? 0)).find((order) => order !== 0) ?? 0)
      .map(({ file }) => file);
  }
}
