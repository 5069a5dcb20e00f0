import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { openRootTokenFile } from "../../../../scripts/declare/root-token-file.ts";

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "grove-root-token-"));
});

afterAll(() => rmSync(directory, { recursive: true }));

it("a root token is written into a new file, or an empty one, for this user alone", () => {
  const path = join(directory, "new");
  writeFileSync(path, "", { mode: 0o600 });
  for (const token of ["", "s.one"]) {
    const file = openRootTokenFile(path);
    if (token !== "" && file.ok) expect(file.value.write(token)).toEqual({ ok: true, value: undefined });
    if (file.ok) file.value.close();
    expect(file.ok).toBe(true);
  }
  const failed = openRootTokenFile(join(directory, "failed"));
  if (failed.ok) failed.value.close();
  expect(existsSync(join(directory, "failed"))).toBe(false);
  expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["s.one\n", 0o600]);
});

it.each<[string, (path: string) => void]>([
  ["has something in it", (path) => writeFileSync(path, "kept", { mode: 0o600 })],
  ["others may read", (path) => writeFileSync(path, "", { mode: 0o640 })],
  [
    "leads elsewhere",
    (path) => {
      writeFileSync(`${path}-target`, "", { mode: 0o600 });
      symlinkSync(`${path}-target`, path);
    },
  ],
])("a root token is not written into a file that %s", (what, make) => {
  const path = join(directory, what.replaceAll(" ", "-"));
  make(path);
  if (what === "others may read") chmodSync(path, 0o640);
  expect(openRootTokenFile(path).ok).toBe(false);
});

it("a root token is not written into an empty file of another user, who could read it", () => {
  const path = join(directory, "of-another");
  writeFileSync(path, "", { mode: 0o600 });
  const other = vi.spyOn(process as Required<typeof process>, "getuid").mockReturnValue(statSync(path).uid + 1);
  expect(openRootTokenFile(path).ok).toBe(false);
  other.mockRestore();
  const file = openRootTokenFile(path);
  expect(file.ok).toBe(true);
  if (file.ok) file.value.close();
});
