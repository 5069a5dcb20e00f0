import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nameKey } from "../../../src/base/case-folding.ts";

describe("the key of a name", () => {
  it.each([
    ["Kevin", "\u212aevin"],
    ["kings", "\u212aINGS"],
    ["\u00c5ngström", "\u212bngström"],
    ["\u03a9", "\u2126"],
    ["\u0398", "\u03f4"],
    ["\u01c4", "\u01c5"],
    ["\u0130van", "I\u0307van"],
  ])("%s is not that of %s, whose lower case is the same", (name, other) => {
    expect(other.toLowerCase()).toBe(name.toLowerCase());
    expect(nameKey(other)).not.toBe(nameKey(name));
    expect(nameKey(other)).not.toBe(nameKey(name.toLowerCase()));
  });

  it("is the same for at most two letters: a capital one and its lower case", () => {
    const letters = new Map<string, string[]>();
    for (let code = 0; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const letter = String.fromCodePoint(code);
      const key = nameKey(letter);
      if (key === letter) continue;
      letters.set(key, [...(letters.get(key) ?? []), letter]);
    }
    expect([...letters.values()].filter((capitals) => capitals.length > 1)).toEqual([]);
    expect(letters.size).toBeGreaterThan(1000);
  });

  // Rows are found by it.
  it.each(["Kevin", "ÄRGER", "İstanbul", "ΝΙΚΟΣ", "STRAẞE", "ПЁТР", "ᾈ", "😀 Team/A"])(
    "%s is its lower case",
    (name) => {
      expect(nameKey(name)).toBe(name.toLowerCase());
    },
  );
});

/** Files that change the case of other texts than names: words of protocols, hex, units, names of fields, searches. */
const OTHER_TEXTS = [
  "api/json-api/dialect.ts",
  "api/sys/generate-root.ts",
  "api/sys/leases/revoke.ts",
  "base/clock.ts",
  "base/outbound-hosts.ts",
  "lease/revocation-delivery.ts",
  "lease/revocation-endpoint.ts",
  "listing/inventory/filter.ts",
  "methods/aws/clients/client.ts",
  "methods/aws/clients/client-config.ts",
  "methods/aws/documents/certificate.ts",
  "methods/aws/encoding.ts",
  "methods/aws/method.ts",
  "methods/aws/routes/roles.ts",
  "methods/aws/rules/alias-and-metadata.ts",
  "methods/aws/rules/role-grant.ts",
  "methods/aws/sts/headers.ts",
  "methods/aws/sts/signed-request.ts",
  // The code that a person reads off one screen and types on another.
  "methods/jwt/oidc/direct-callback.ts",
  "policy/path-block.ts",
  "policy/parameters.ts",
  // Coarser than names are compared, so that a deny holds for more spellings and never for fewer.
  "policy/path-spellings.ts",
  "policy/suggest.ts",
  "wire/audit-masking.ts",
  "wire/request.ts",
];

it("nothing else compares names: no other file changes the case of a text", () => {
  const source = join(import.meta.dirname, "../../../src");
  const files = globSync("**/*.ts", { cwd: source }).filter((file) =>
    /\.to(Locale)?(Lower|Upper)Case\(/.test(readFileSync(join(source, file), "utf8")),
  );
  expect(files.filter((file) => file !== "base/case-folding.ts" && !OTHER_TEXTS.includes(file))).toEqual([]);
});
