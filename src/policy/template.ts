import type { Ms } from "../base/clock.ts";
import { parseDuration } from "../base/duration.ts";
import type { NamedPolicy, PathRule } from "./rule.ts";

/** The properties of a caller that templates in rule paths can read. Plain data. */
export interface TemplateContext {
  /** For `time.now`. */
  readonly now: Ms;
  readonly entity?: TemplateEntity;
  /** The groups that the entity is a member of. */
  readonly groups?: readonly TemplateGroup[];
}

export interface TemplateGroup {
  readonly id: string;
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface TemplateAlias extends TemplateGroup {
  readonly customMetadata: Readonly<Record<string, string>>;
}

export interface TemplateEntity extends TemplateGroup {
  /** By the accessor of their mount. */
  readonly aliases: Readonly<Record<string, TemplateAlias>>;
}

/** True when a rule has a template, so that a compiled ACL is valid for one entity only. */
export function usesTemplates(rules: readonly PathRule[]): boolean {
  return rules.some(({ path }) => path.includes("{{"));
}

/** True when a rule has a template that reads the time, so that a compiled ACL is valid for one moment only. */
export function usesClock(rules: readonly PathRule[]): boolean {
  return rules.some(({ path }) => /\{\{\s*time\./.test(path));
}

/** True when every `{{` in the path is closed by one `}}` before the next. */
export function hasBalancedBraces(path: string): boolean {
  const [before = "", ...templates] = path.split("{{");
  return !before.includes("}}") && templates.every((piece) => piece.split("}}").length === 2);
}

/**
 * Replaces the templates of a path by their values; null when one is missing, empty or not allowed: the rule then does
 * not exist.
 *
 * A value is set by the editors of an identity and is often chosen by its owner. A value with `/` would reach another
 * folder, and one with `*` or `+` many folders. Unless the policy allows such values, they count as missing. Values are
 * inserted once and never read as templates themselves.
 */
export function resolveTemplates(
  path: string,
  context: TemplateContext,
  policy: Pick<NamedPolicy, "allowSlashes" | "allowWildcards">,
): string | null {
  if (!path.includes("{{")) return path;
  if (!hasBalancedBraces(path)) return null;
  const [before = "", ...pieces] = path.split("{{");
  let resolved = before;
  for (const piece of pieces) {
    const [expression = "", after = ""] = piece.split("}}");
    const value = lookUp(expression.trim(), context);
    if (value === undefined || value === "") return null;
    if (value.includes("/") && !policy.allowSlashes) return null;
    if (/[*+]/.test(value) && !policy.allowWildcards) return null;
    resolved += value + after;
  }
  return resolved;
}

function lookUp(expression: string, context: TemplateContext): string | undefined {
  const ofEntity = afterPrefix(expression, "identity.entity.");
  if (ofEntity !== null) return context.entity && entityValue(ofEntity, context.entity);
  const ofGroup = afterPrefix(expression, "identity.groups.");
  if (ofGroup !== null) return groupValue(ofGroup, context.groups ?? []);
  const ofTime = afterPrefix(expression, "time.");
  return ofTime === null ? undefined : timeValue(ofTime, context.now);
}

function entityValue(selector: string, entity: TemplateEntity): string | undefined {
  const ofAlias = afterPrefix(selector, "aliases.");
  if (ofAlias === null) return fieldValue(selector, entity);
  const [accessor, field] = splitOnce(ofAlias);
  const alias = ownValue(entity.aliases, accessor);
  if (!alias) return undefined;
  const custom = afterPrefix(field, "custom_metadata.");
  return custom === null ? fieldValue(field, alias) : ownValue(alias.customMetadata, custom);
}

function groupValue(selector: string, groups: readonly TemplateGroup[]): string | undefined {
  const [by, rest] = splitOnce(selector);
  const [wanted, field] = splitOnce(rest);
  const group = groups.find((one) => (by === "ids" ? one.id : by === "names" ? one.name : null) === wanted);
  return group && fieldValue(field, group);
}

function fieldValue(field: string, owner: TemplateGroup): string | undefined {
  if (field === "id") return owner.id;
  if (field === "name") return owner.name;
  const key = afterPrefix(field, "metadata.");
  return key === null ? undefined : ownValue(owner.metadata, key);
}

/** Seconds since 1970, moved by a duration: `now`, `now.plus.1h`, `now.minus.30m`. */
function timeValue(selector: string, now: Ms): string | undefined {
  const seconds = Math.floor(now / 1000);
  if (selector === "now") return String(seconds);
  const [, sign, text = ""] = /^now\.(plus|minus)\.(.+)$/s.exec(selector) ?? [];
  const duration = parseDuration(text);
  if (sign === undefined || !duration.ok) return undefined;
  return String(sign === "plus" ? seconds + duration.value : seconds - duration.value);
}

function ownValue<T>(values: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

function afterPrefix(text: string, prefix: string): string | null {
  return text.startsWith(prefix) ? text.slice(prefix.length) : null;
}

/** The parts before and after the first dot. */
function splitOnce(text: string): [string, string] {
  const dot = text.indexOf(".");
  return dot < 0 ? [text, ""] : [text.slice(0, dot), text.slice(dot + 1)];
}
