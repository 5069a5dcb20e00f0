import { isIP } from "node:net";
import { formatRfc3339, type Ms, parseAbsoluteTime } from "../../src/base/clock.ts";
import { parseDuration } from "../../src/base/duration.ts";
import { err, ok, type Result } from "../../src/base/result.ts";
import { didYouMean } from "../local/did-you-mean.ts";
import type { OptionEntry } from "./command-table.ts";

type Value = string | boolean | readonly string[] | undefined;

/**
 * Checks the values of options before anything is sent. Times become RFC 3339.
 *
 * @param now this machine's clock, which durations count from.
 * @returns the values that are changed; the error names the option.
 */
export function readValues(
  values: Readonly<Record<string, Value>>,
  options: Readonly<Record<string, OptionEntry>>,
  now: Ms,
): Result<Readonly<Record<string, string>>, string> {
  const changed: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    const option = options[name];
    if (!option || typeof value === "boolean") continue;
    for (const one of [value ?? []].flat()) {
      const read = readValue(one, option, now);
      if (!read.ok)
        return err(`--${name} takes ${read.error}, not "${one}"${didYouMean(one, (option.values ?? []).map(shown))}`);
      if (typeof value === "string") changed[name] = read.value;
    }
  }
  return ok(changed);
}

/** The error says what the option takes. */
function readValue(text: string, option: OptionEntry, now: Ms): Result<string, string> {
  if (option.counts) return /^\d{1,9}$/.test(text) ? ok(text) : err("a whole number from 0 on");
  if (option.time) return readTime(text, { side: option.time, orNow: option.orNow ?? false }, now);
  if (option.pairs) return /^[^=]+=/.test(text) ? ok(text) : err("NAME=VALUE");
  if (option.address) return isIP(text) > 0 ? ok(text) : err("an IP address");
  if (option.path) return readPath(text, option.value ?? "");
  if (!option.values) return text === "" ? err(`a value (${option.value})`) : ok(text);
  return readWords(text, option.values, option.several ?? false);
}

/** The scheme and host of a URL, and the base paths of the API, which no log and no list has. */
const BEFORE_PATH = /^(?:https?:\/\/[^/]*)?\/*(?:(?:v1|api\/v2)\/+)?/;

/** Reads a path as logs and lists have it: with its base path it would match nothing, as if nothing had happened. */
function readPath(text: string, shown: string): Result<string, string> {
  const path = text.replace(BEFORE_PATH, "");
  return path === "" ? err(`a value (${shown})`) : ok(path);
}

function readWords(text: string, values: readonly string[], several: boolean): Result<string, string> {
  const words = several ? text.split(",") : [text];
  if (words.every((word) => values.some((value) => isOf(word, value)))) return ok(text);
  return err(`one of ${values.map(shown).join(", ")}`);
}

const shown = (value: string): string => (value.endsWith(".") ? `${value}NAME` : value);

const isOf = (word: string, value: string): boolean =>
  value.endsWith(".") ? word.startsWith(value) && word !== value : word === value;

/** A day, which begins at midnight UTC. */
const DATE = /^\d{4}-\d\d-\d\d$/;
/** As the tables of this command show a time. */
const SHOWN_TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d)(:\d\d)?Z$/;
const DURATION = /^\d[\d.]*[a-z]/;

/**
 * Reads a time: RFC 3339, also as tables show it, a date, seconds since 1970, or a duration before or after now.
 *
 * @returns RFC 3339; or the word "now", which the server reads by its own clock.
 */
function readTime(
  text: string,
  { side, orNow }: { readonly side: "before" | "after"; readonly orNow: boolean },
  now: Ms,
): Result<string, string> {
  if (orNow && text === "now") return ok(text);
  const [, date, minute, second = ":00"] = SHOWN_TIME.exec(text) ?? [];
  const shown = date === undefined ? text : `${date}T${minute}${second}Z`;
  const absolute = parseAbsoluteTime(DATE.test(text) ? `${text}T00:00:00Z` : shown);
  if (absolute !== null) return ok(formatRfc3339(absolute));
  const seconds = DURATION.test(text) ? parseDuration(text) : null;
  if (!seconds?.ok) {
    const forms = "2026-11-22T01:30:00Z, 2026-11-22, seconds since 1970";
    return err(`a time: ${forms}${orNow ? ", now" : ""}, or so long ${side} now: 24h, 30m, 7d`);
  }
  return ok(formatRfc3339(side === "before" ? now - seconds.value * 1000 : now + seconds.value * 1000));
}
