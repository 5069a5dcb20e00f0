import { describe, expect, it } from "vitest";
import type { StoredPolicy } from "../../../client/answers.d.ts";
import { relative, since } from "../../../console/format.ts";
import { otherSettings } from "../../../console/policies/policy-endpoint.ts";

const POLICY: StoredPolicy = {
  name: "app",
  policy: "",
  version: 2,
  modified: "2026-11-29T10:00:00.000Z",
  cas_required: false,
  allow_slashes_in_identity_templates: false,
  allow_wildcards_in_identity_templates: false,
};

describe("the settings of an earlier version", () => {
  it("are named where they differ from those of now, as they were", () => {
    expect(otherSettings({ ...POLICY, version: 1, policy: "other" }, POLICY)).toEqual([]);
    const current = { ...POLICY, expiration: "2026-12-01T00:00:00Z" };
    expect(otherSettings({ ...POLICY, cas_required: true }, current)).toEqual([
      "cas_required: true",
      "expiration: none",
    ]);
  });
});

describe("the time since something happened", () => {
  const now = Date.parse("2026-11-29T10:00:00Z");

  it("is never ahead, whatever the clocks say", () => {
    expect(since("2026-11-29T10:00:30Z", now)).toBe("now");
    expect(since("2026-11-29T09:59:30Z", now)).toBe("30s ago");
    expect(relative("2026-11-29T10:00:30Z", now)).toBe("in 30s");
  });
});
