import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import { beforeAll, describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { type Leaks, leaksOf, namedSecrets, PLACES } from "../../support/leaks.ts";

interface Rule {
  readonly name: string;
  readonly regex: string;
  readonly keywords: readonly string[];
}

const gitleaks = (
  parseToml(readFileSync("ops/gitleaks.toml", "utf8")) as unknown as {
    rules: { id: string; regex: string; keywords: string[] }[];
  }
).rules.map(({ id, regex, keywords }): Rule => ({ name: id, regex, keywords }));

const trufflehog = (
  parseYaml(readFileSync("ops/trufflehog.yaml", "utf8")) as {
    detectors: { name: string; regex: { secret: string }; keywords: string[] }[];
  }
).detectors.map(({ name, regex, keywords }): Rule => ({ name, regex: regex.secret, keywords }));

/** What the rules find in `text`, as the scanners do: a rule is tried where one of its keywords stands. */
function found(text: string): (readonly [string, string | undefined])[] {
  return gitleaks
    .filter(({ keywords }) => keywords.some((keyword) => text.toLowerCase().includes(keyword)))
    .flatMap(({ name, regex }) =>
      [...text.matchAll(new RegExp(regex, "g"))].map(([, secret]) => [name, secret] as const),
    );
}

describe("the rules for scanners of leaks", () => {
  let leaks: Leaks;

  beforeAll(async () => {
    leaks = await leaksOf(Date.now());
  });

  it("are the same for each scanner", () => expect(trufflehog).toEqual(gitleaks));

  it.each(PLACES.map((place) => [place("TOKEN"), place] as const))("find every kind of token in %j", (_, place) => {
    for (const leak of leaks.secrets) expect(found(place(leak[1]))).toEqual([leak]);
  });

  it("find each of two tokens in a line", () => {
    const both = leaks.secrets.slice(0, 2);
    expect(found(both.map(([, secret]) => secret).join(" "))).toEqual(both);
  });

  it("find tokens of every year that a row may have", async () => {
    for (const year of [2026, 2028, 2040, 2094]) {
      const { secrets } = await leaksOf(Date.UTC(year, 11, 31));
      for (const leak of secrets) expect(found(leak[1])).toEqual([leak]);
    }
  });

  it.each(namedSecrets())("%s finds %j", (rule, text) => {
    expect(found(text)).toEqual([[rule, expect.stringMatching(/^\S{32,}$/)]]);
  });

  it("find nothing in what only resembles them", () => {
    for (const text of leaks.lookAlikes)
      for (const place of PLACES) expect([text, found(place(text))]).toEqual([text, []]);
  });
});
