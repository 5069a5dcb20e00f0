import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CHOICE_SETTINGS } from "../../../src/base/choice-settings.ts";
import { misreadSettings } from "../../../src/base/misread-settings.ts";
import { NUMBER_SETTINGS, type NumberSettingName, numberSetting } from "../../../src/base/number-settings.ts";

const NAMES = Object.keys(NUMBER_SETTINGS) as NumberSettingName[];

describe("a setting that is a number", () => {
  it.each(NAMES)("%s is the default where it is not set, or says nothing that can be meant", (name) => {
    const { byDefault } = NUMBER_SETTINGS[name];
    const wrong = ["-1", "NaN", "Infinity", "soon", "1e400", "5s", "1,5"];
    for (const text of [undefined, "", " ", ...wrong]) expect(numberSetting(name, text)).toBe(byDefault);
    for (const text of wrong) {
      const line = expect.stringMatching(`^${name} is no (whole )?number .*: the default counts, ${byDefault}$`);
      expect(misreadSettings({ [name]: text })).toEqual([line]);
    }
    expect(misreadSettings({ [name]: "" })).toEqual([]);
  });

  it.each(NAMES)("%s is taken within its bounds, also as a number of wrangler.toml", (name) => {
    const { min, max } = NUMBER_SETTINGS[name];
    for (const value of [min, max]) {
      expect(numberSetting(name, String(value))).toBe(value);
      expect(numberSetting(name, value)).toBe(value);
      expect(misreadSettings({ [name]: value })).toEqual([]);
    }
    const { byDefault } = NUMBER_SETTINGS[name];
    for (const value of [min - 1, max * 2]) expect(numberSetting(name, String(value))).toBe(byDefault);
  });

  it("is whole where parts mean nothing", () => {
    expect(numberSetting("BACKUP_KEEP", "1.5")).toBe(14);
    expect(numberSetting("POLICY_CACHE_SECONDS", "0.5")).toBe(0.5);
  });

  it("is reported as misread once for each value, with its bounds and without the value", () => {
    const settings = { POLICY_CACHE_SECONDS: "abc", AUDIT_DAYS: "0", BACKUP_KEEP: true, LOG_LEVEL: "" };
    expect(misreadSettings(settings)).toEqual([
      "POLICY_CACHE_SECONDS is no number from 0 on: the default counts, 5",
      "BACKUP_KEEP is no whole number from 1 on, at most 400: the default counts, 14",
      "AUDIT_DAYS is no number above 0, at most 3650: the default counts, 30",
    ]);
  });
});

describe("a setting that is a choice", () => {
  it.each(Object.entries(CHOICE_SETTINGS))("%s is reported when it is none of its values", (name, setting) => {
    const { byDefault, values } = setting;
    for (const value of [undefined, "", ...values]) expect(misreadSettings({ [name]: value })).toEqual([]);
    for (const value of ["TRUE", "0", "of", true, false]) {
      const line = `${name} is none of the texts ${values.join(", ")}: the default counts, ${byDefault}`;
      expect(misreadSettings({ [name]: value })).toEqual([line]);
    }
  });

  it("has the default that docs/operations.md says", () => {
    const list = readFileSync("docs/operations.md", "utf8").split("\n## First start")[0] ?? "";
    for (const [name, { byDefault }] of Object.entries(CHOICE_SETTINGS))
      expect(list).toContain(`- \`${name}\` (\`${byDefault}\`):`);
  });
});

it("docs/operations.md has these settings, with these defaults", () => {
  const list = readFileSync("docs/operations.md", "utf8").split("\n## First start")[0] ?? "";
  const heads = list.matchAll(/^- `(\w+)` \((\d+)\):/gm);
  const documented = Object.fromEntries([...heads].map(([, name = "", number]) => [name, Number(number)]));
  expect(documented).toEqual(Object.fromEntries(NAMES.map((name) => [name, NUMBER_SETTINGS[name].byDefault])));
});
