import { expect, it } from "vitest";
import { explainingFaults } from "../../../scripts/serve/storage-faults.ts";

const FULL = "workerd/jsg/util.c++:320: error: e = workerd/util/sqlite.c++:1827: failed: disk is full: SQLITE_FULL";
const MALFORMED = "warning: exception = jsg.Error: database disk image is malformed: SQLITE_CORRUPT_VTAB";

it("says once a minute what workerd's lines about the disk mean, and shows the first of them", () => {
  const said: string[] = [];
  let now = 0;
  const follow = explainingFaults(
    "/data",
    (line) => void said.push(line),
    (line) => void said.push(`serve: ${line}`),
    () => now,
  );
  for (const line of ["another line", FULL, FULL, MALFORMED, FULL, "another line"]) follow(line);
  const full = expect.stringMatching(/^serve: the disk of \/data is full: .*docs\/runbook\.md, The disk is full\)$/);
  const damaged = expect.stringMatching(/^serve: a database in \/data is damaged, .*docs\/runbook\.md, Restore\)$/);
  expect(said).toEqual(["another line", FULL, full, MALFORMED, damaged, "another line"]);
  now = 60_000;
  said.length = 0;
  follow(FULL);
  expect(said).toEqual([FULL, full]);
});
