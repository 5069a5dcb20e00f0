import type { Ms, Seconds } from "../base/clock.ts";
import { parseDuration } from "../base/duration.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { EntityView } from "../identity/model.ts";
import type { TemplateAlias } from "../policy/template.ts";
import { isObject } from "../wire/fields.ts";
import { parseJsonObject } from "../wire/json.ts";

/** Claims that a template can't set: the issuer sets them, and verifiers decide by them. */
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
 * Returns the problem with the template of a role, or null. A template is a JSON object with expressions in the place
 * of values or of keys, and sets no reserved claim. A key that is an expression is checked when a token is signed.
 */
export function templateProblem(template: string): string | null {
  if (template === "") return null;
  const claims = claimsFromTemplate(template, NO_OBSERVER, 0);
  return claims.ok ? null : claims.error;
}

/**
 * The claims of a template for an entity, or a message for operators. An expression is a whole value or a whole key,
 * never a part of a text, and is replaced after the JSON was parsed. Otherwise an entity with a quote in its name could
 * inject a claim. Keys are checked after the replacement, so that an entity that is named like a claim can't set that
 * claim.
 */
export function claimsFromTemplate(
  template: string,
  view: EntityView,
  now: Ms,
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
  // The message of the JSON parser is not returned: it would quote values of the entity.
  if (!parsed.ok) return err(NO_OBJECT);
  const claims = withValues(parsed.value, values);
  if (!claims.ok) return claims;
  const reserved = Object.keys(claims.value).find((name) => RESERVED_CLAIMS.has(name));
  if (reserved === undefined) return claims;
  return err(`top level key "${reserved}" not allowed. Restricted keys: ${[...RESERVED_CLAIMS].join(", ")}`);
}

/** Prefix of the placeholder of an expression while the JSON is parsed; the index of its value follows. */
const MARK = "\ue000";

const NO_OBJECT = "error parsing template JSON: it must be an object, with expressions outside of quotes only";

/** Replaces the placeholders in parsed JSON by `values`. Each placeholder must occur exactly once. */
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
  // A placeholder is missing when JSON dropped a repeated key. It is found twice when the template itself contains one.
  return used === values.length ? ok(filled) : err(NO_OBJECT);
}

type Value = string | number | readonly string[] | Readonly<Record<string, string>>;

/** Returns the value of an expression; undefined for an unknown one. A value that the entity lacks is "" or {}. */
function directiveValue(expression: string, { entity, groups }: EntityView, now: Ms): Value | undefined {
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

/** Returns the map for the field `name`, and one of its values for `name.key`. */
function mapValue(name: string, field: string, map: Readonly<Record<string, string>>): Value | undefined {
  if (field === name) return map;
  const key = afterPrefix(field, `${name}.`);
  if (key === null) return undefined;
  return (Object.hasOwn(map, key) ? map[key] : undefined) ?? "";
}

/** Returns seconds since 1970, with an offset: `time.now`, `time.now.plus.1h`, `time.now.minus.30m`. */
function timeValue(expression: string, now: Ms): Seconds | undefined {
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
