import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The order of test files. Vitest runs one project after the other; here those of a group mix, so that the files that wait (for
 * servers, pages, objects) do so beside files that compute. In each project the longest go first, as known from the last run.
 */
export class SideBySide extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const counts = new Map<string, number>();
    const sorted = (await super.sort(files)).map((file) => {
      const place = counts.get(file.project.name) ?? 0;
      counts.set(file.project.name, place + 1);
      return { file, place };
    });
    return sorted
      .map(({ file, place }) => ({
        file,
        group: file.project.config.sequence.groupOrder,
        share: (place + 1) / (counts.get(file.project.name) ?? 1),
      }))
      .sort((a, b) => a.group - b.group || a.share - b.share)
      .map(({ file }) => file);
  }
}
