import { describe, expect, it } from "vitest";
import { canonicalPath } from "../../../../src/methods/aws/method.ts";

describe("the spelling of a path that policies judge", () => {
  it.each([
    ["identity-whitelist", "identity-accesslist"],
    ["identity-whitelist/i-1", "identity-accesslist/i-1"],
    ["tidy/identity-whitelist", "tidy/identity-accesslist"],
    ["config/tidy/identity-whitelist", "config/tidy/identity-accesslist"],
    ["roletag-blacklist", "roletag-denylist"],
    ["roletag-blacklist/djE6YQ==", "roletag-denylist/v1:a"],
    ["tidy/roletag-blacklist", "tidy/roletag-denylist"],
    ["config/tidy/roletag-blacklist", "config/tidy/roletag-denylist"],
    ["role", "roles"],
    ["role/Web", "role/web"],
    ["role/Web/tag", "role/web/tag"],
  ])("of %s is %s", (path, spelled) => {
    expect(canonicalPath(path)).toBe(spelled);
    expect(canonicalPath(spelled)).toBe(spelled);
  });

  it.each([
    "login",
    "roles",
    "config/client",
    "identity-whitelisted/x",
    "x/identity-whitelist/i-1",
    "role/identity-whitelist",
  ])("of %s is its own", (path) => {
    expect(canonicalPath(path)).toBe(path);
  });
});
