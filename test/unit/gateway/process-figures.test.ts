import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { processFigures } from "../../../scripts/serve/metrics-page.ts";

describe.skipIf(process.platform !== "linux")("what a process uses", () => {
  it("is read correctly for a process whose name looks like fields of /proc", async () => {
    const directory = mkdtempSync(join(tmpdir(), "grove-name-"));
    const program = join(directory, "a) S 1 (b");
    symlinkSync("/bin/sh", program);
    const child = spawn(program, ["-c", "echo; read line"]);
    try {
      await once(child.stdout, "data");
      const figures = processFigures(child.pid ?? 0);
      expect(figures?.cpuSeconds).toBeLessThan(5);
      expect(figures?.residentBytes).toBeGreaterThan(100_000);
      expect(figures?.residentBytes).toBeLessThan(2 ** 30);
    } finally {
      child.kill("SIGKILL");
      rmSync(directory, { recursive: true });
    }
  });

  it("is null for a missing process", () => {
    expect(processFigures(2 ** 30)).toBeNull();
  });
});
