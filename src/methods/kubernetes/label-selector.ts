import { load } from "js-yaml";
import { err, ok, type Result } from "../../base/result.ts";
import { isObject } from "../../wire/fields.ts";

/** Labels that a namespace must have. Never empty. */
type LabelSelector = ReadonlyMap<string, string>;

const MAX_SELECTOR = 4096;

/**
 * Reads a label selector in YAML or JSON, which is YAML too. A selector without labels would match every namespace, and
 * a misspelled one too, so both are refused.
 */
export function readSelector(text: string): Result<LabelSelector, string> {
  if (text.length > MAX_SELECTOR) return err(`must not be longer than ${MAX_SELECTOR} characters`);
  const selector = yamlOf(text);
  if (!isObject(selector)) return err("must be an object in JSON or YAML");
  if (Object.hasOwn(selector, "matchExpressions")) return err("has matchExpressions, which are not supported");
  const { matchLabels, ...others } = selector;
  if (!isObject(matchLabels) || Object.keys(others).length > 0) return err("must have matchLabels and nothing else");
  const labels = Object.entries(matchLabels).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : [],
  );
  const isWhole = labels.length > 0 && labels.length === Object.keys(matchLabels).length;
  return isWhole ? ok(new Map(labels)) : err("must have labels with strings as values");
}

/** True when `labels` has every label of the selector. */
export function selects(selector: LabelSelector, labels: Readonly<Record<string, unknown>>): boolean {
  return [...selector].every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value);
}

/** Parses one YAML document; null for anything else. The parser bounds the depth and knows no types but JSON's. */
function yamlOf(text: string): unknown {
  try {
    return load(text);
  } catch {
    return null;
  }
}
