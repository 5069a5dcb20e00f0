import { parseDuration } from "../base/duration.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { EntityView } from "../identity/model.ts";
import type { TemplateAlias } from "../policy/template.ts";
import { isObject } from "../wire/fields.ts";
import { parseJsonObject } from "../wire/json.ts";

/** Claims that a template can't set: they decide who a token is for and how long. */
const RESERVED_CLAIMS: ReadonlySet<string> = new Set([
  ...["iss", "sub", "aud", "exp", "iat", "nbf", "jti", "namespace", "nonce", "auth_time", "at_hash", "c_hash"],
]);

const NO_OBSERVER: EntityView = {
  revision: "",
  disabled: false,
  policies: [],
  entity: { id: "", name: "", metadata: {}, aliases: {} },
  groups: [],
};

const NO_ALIAS: TemplateAlias = { id: "", name: "", metadata: {}, customMetadata: {} };

/**
 * Why `template` can't be the template of a role, or null. It must be a JSON object with expressions in the place of values or
 * of keys, and set no reserved claim. What a key with an expression becomes is judged when a token is signed.
 */
export function templateProblem(template: string): string | null {
  if (template === "") return null;
  const claims = claimsFromTemplate(template, NO_OBSERVER, 0);
  return claims.ok ? null : claims.error;
}

/**
 * The claims of a template for an entity. An expression is a value or a key by itself, never a part of a text: an owner who
 * chooses a name with a quote in it must not be able to add a claim, nor one who is named like a claim to set it.
 *
 * @param now ms.
 * @returns a message for operators when the template has an unknown expression, gives no JSON object, or sets a claim that it
 * must not.
 */
export function claimsFromTemplate(
  template: string,
  view: EntityView,
  now: number,
): Result<Record<string, unknown>, string> {
  const values: Value[] = [];
  let unknown = false;
  const marked = template.replace(/\{\{([^{}]*)\}\}/g, (_, expression: string) => {
    const value = directiveValue(expression.trim(), view, now);
    if (value === undefined) unknown = true;
    return JSON.stringify(MARK + String(values.push(value ?? "") - 1));
  });
  if (unknown) return err("error parsing template: no value could be found for one of the template directives");
  const parsed = marked.trimStart().startsWith("{") ? parseJsonObject(marked) : err("");
  // Its own message would quote the values.
  if (!parsed.ok) return err(NO_OBJECT);
  const claims = withValues(parsed.value, values);
  if (!claims.ok) return claims;
  const reserved = Object.keys(claims.value).find((name) => RESERVED_CLAIMS.has(name));
  if (reserved === undefined) return claims;
  return err(`top level key "${reserved}" not allowed. Restricted keys: ${[...RESERVED_CLAIMS].join(", ")}`);
}

/** Begins the text that stands for an expression while the JSON is parsed; its number follows. */
const MARK = "\ue000";

const NO_OBJECT = "error parsing template JSON: it must be an object, with expressions outside of quotes only";

/** The object with `values` in the place of their marks, each of which it must have once. */
function withValues(json: Record<string, unknown>, values: readonly Value[]): Result<Record<string, unknown>, string> {
  let used = 0;
  const problems: string[] = [];
  const valueAt = (text: string): Value | undefined => {
    const value = text.startsWith(MARK) ? values[Number(text.slice(MARK.length))] : undefined;
    if (value !== undefined) used++;
    return value;
  };
  const fill = (item: unknown): unknown => {
    if (typeof item === "string") return valueAt(item) ?? item;
    if (Array.isArray(item)) return item.map(fill);
    return isObject(item) ? fillObject(item) : item;
  };
  const fillObject = (object: Record<string, unknown>): Record<string, unknown> => {
    const filled = new Map<string, unknown>();
    for (const [written, item] of Object.entries(object)) {
      const key = valueAt(written) ?? written;
      if (typeof key !== "string") problems.push("error parsing template JSON: a key must be a text");
      else if (filled.has(key)) problems.push("error parsing template JSON: two keys of an object are the same");
      else filled.set(key, fill(item));
    }
    return Object.fromEntries(filled);
  };
  const filled = fillObject(json);
  const [problem] = problems;
  if (problem !== undefined) return err(problem);
  // A mark that was not met stood under a key that comes twice; one that was met twice was written as text.
  return used === values.length ? ok(filled) : err(NO_OBJECT);
}

type Value = string | number | readonly string[] | Readonly<Record<string, string>>;

/** undefined for an expression that does not exist. A value that an entity lacks is "" or {}. */
function directiveValue(expression: string, { entity, groups }: EntityView, now: number): Value | undefined {
  const selector = afterPrefix(expression, "identity.entity.");
  if (selector === null) return timeValue(expression, now);
  if (selector === "id") return entity.id;
  if (selector === "name") return entity.name;
  if (selector === "groups.names") return groups.map(({ name }) => name);
  if (selector === "groups.ids") return groups.map(({ id }) => id);
  const alias = afterPrefix(selector, "aliases.");
  if (alias === null) return mapValue("metadata", selector, entity.metadata);
  const dot = alias.indexOf(".");
  if (dot < 0) return undefined;
  const accessor = alias.slice(0, dot);
  const found = Object.hasOwn(entity.aliases, accessor) ? entity.aliases[accessor] : undefined;
  return aliasValue(alias.slice(dot + 1), found ?? NO_ALIAS);
}

function aliasValue(field: string, alias: TemplateAlias): Value | undefined {
  if (field === "id") return alias.id;
  if (field === "name") return alias.name;
  return mapValue("custom_metadata", field, alias.customMetadata) ?? mapValue("metadata", field, alias.metadata);
}

/** The map itself as `name`, one of its values as `name.key`. */
function mapValue(name: string, field: string, map: Readonly<Record<string, string>>): Value | undefined {
  if (field === name) return map;
  const key = afterPrefix(field, `${name}.`);
  if (key === null) return undefined;
  return (Object.hasOwn(map, key) ? map[key] : undefined) ?? "";
}

/** Seconds since 1970, moved by a duration: `time.now`, `time.now.plus.1h`, `time.now.minus.30m`. */
function timeValue(expression: string, now: number): number | undefined {
  const seconds = Math.floor(now / 1000);
  if (expression === "time.now") return seconds;
  const match = /^time\.now\.(plus|minus)\.(.+)$/.exec(expression);
  const duration = parseDuration(match?.[2] ?? "");
  if (!match || !duration.ok) return undefined;
  return match[1] === "plus" ? seconds + duration.value : seconds - duration.value;
}

function afterPrefix(text: string, prefix: string): string | null {
  return text.startsWith(prefix) ? text.slice(prefix.length) : null;
}
