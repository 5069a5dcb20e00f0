import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { DataDirectory } from "../../../scripts/local/data-directory.ts";
import { hasStoredTokens } from "../../../scripts/local/stored-tokens.ts";

const path = mkdtempSync(join(tmpdir(), "grove-stored-tokens-"));
afterAll(() => rmSync(path, { recursive: true }));

it("finds tokens in a data directory, of which no other installation may be made, also where its id is gone", () => {
  const opened = DataDirectory.open(path);
  if (!opened.ok) throw new Error(opened.error);
  const objects = join(path, "objects");
  mkdirSync(join(objects, "System-1"), { recursive: true });
  mkdirSync(join(objects, "TokenTree-1"));
  writeFileSync(join(objects, "TokenTree-1", "metadata.sqlite"), "");
  expect(hasStoredTokens(opened.value)).toEqual({ ok: true, value: false });
  writeFileSync(join(objects, "TokenTree-1", `${"0a".repeat(32)}.sqlite`), "");
  expect(hasStoredTokens(opened.value)).toEqual({
    ok: false,
    error: expect.stringMatching(/installation-id is gone: bring it back.*TokenTree-1 .*use an empty data directory$/),
  });
  writeFileSync(join(path, "installation-id"), "2");
  expect(hasStoredTokens(opened.value)).toEqual({ ok: true, value: true });
  opened.value.close();
});
