import { err, ok, type Result } from "../../base/result.ts";
import { isObject } from "../../wire/fields.ts";
import { jsonObjectOf } from "../../wire/json.ts";

/** Labels that a namespace must have. Never empty. */
type LabelSelector = ReadonlyMap<string, string>;

const MAX_SELECTOR = 4096;

/**
 * Reads a label selector in JSON. A selector without labels would match every namespace, and a misspelled one too, so
 * both are refused.
 */
export function readSelector(text: string): Result<LabelSelector, string> {
  if (text.length > MAX_SELECTOR) return err(`must not be longer than ${MAX_SELECTOR} characters`);
  const selector = jsonObjectOf(text);
  if (!selector) return err("must be a JSON object");
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
