import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { explainingFaults, lostInstallation } from "../../../scripts/serve/storage-faults.ts";

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

const objects = mkdtempSync(join(tmpdir(), "grove-objects-"));
afterAll(() => rmSync(objects, { recursive: true }));

it("finds tokens without an installation, which no initialization may be made of", () => {
  mkdirSync(join(objects, "System-1"));
  mkdirSync(join(objects, "TokenTree-1"));
  writeFileSync(join(objects, "TokenTree-1", "metadata.sqlite"), "");
  expect(lostInstallation(objects)).toBeUndefined();
  writeFileSync(join(objects, "TokenTree-1", `${"0a".repeat(32)}.sqlite`), "");
  expect(lostInstallation(objects)).toContain("do not initialize it, bring a backup back (docs/runbook.md, Restore)");
});
