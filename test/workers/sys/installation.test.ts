import { beforeAll, expect, it } from "vitest";
import type { Env } from "../../../src/env.ts";
import { loadInstallation, refreshInstallation } from "../../../src/sys/installation.ts";
import { systemOf } from "../../../src/sys/system.ts";
import { bindings, initialized } from "../../support/service.ts";

beforeAll(async () => {
  await initialized();
});

it("a refresh that was asked before a change and answered after it does not bring the old state back", async () => {
  await refreshInstallation(bindings);
  /** Says that nothing is new, as was true when it was asked; on the way back somebody else writes and refreshes. */
  const slow = {
    async snapshot() {
      const content = { text: "", rulesJson: "[]" };
      const settings = { expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false, cas: null };
      await systemOf(bindings).writePolicy("late", { content, ...settings }, Date.now());
      await refreshInstallation(bindings);
      return null;
    },
  };
  await refreshInstallation({ ...bindings, SYSTEM: { getByName: () => slow } as unknown as Env["SYSTEM"] });
  const loaded = await loadInstallation(bindings);
  expect(loaded.ok && loaded.value.hasPolicy("late", Date.now())).toBe(true);
});
