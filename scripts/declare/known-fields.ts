import * as z from "zod";
import { currentTime } from "../../src/base/clock.ts";
import { err, ok, type Result } from "../../src/base/result.ts";
import { parsePolicy, policyErrorText } from "../../src/policy/parse.ts";
import { decimal, flag, looseDuration } from "../../src/wire/fields.ts";
import { type Called, failed } from "../grove/client.ts";
import { didYouMean } from "../local/did-you-mean.ts";
import { isFields } from "./compare-fields.ts";
import { isMount } from "./declarable-paths.ts";
import type { DeclaredRequest } from "./declaration.ts";
import { placeOf } from "./plan-lines.ts";
import type { Service } from "./plan-step.ts";

/** A field of a body. The type of one with several types is "". */
const FIELD = z.looseObject({ type: z.string().catch(""), format: z.string().optional() });
const SCHEMA = z.looseObject({
  properties: z.record(z.string(), FIELD).optional(),
  additionalProperties: z.unknown().optional(),
});
const BODY = z.looseObject({
  content: z.looseObject({ "application/json": z.looseObject({ schema: SCHEMA }).optional() }),
});
const DOCUMENT = z.looseObject({
  paths: z.record(z.string(), z.looseObject({ post: z.looseObject({ requestBody: BODY.optional() }).optional() })),
});
type Paths = z.infer<typeof DOCUMENT>["paths"];

/** Refuses a declaration with a mistake that is found before anything of it is written. */
export async function refuseMistakes(service: Service, requests: readonly DeclaredRequest[]): Promise<Called<null>> {
  const found = await mistakesIn(service, requests);
  if (!found.ok) return found;
  return found.value.length === 0 ? ok(null) : failed([...found.value, "nothing was written"].join("\n"));
}

/**
 * All mistakes that can be found without a write, as lines for the operator: unknown names of fields, which a server
 * ignores, values that no field of the name can have, types of mounts that the server does not have, and policies that
 * can't be parsed. Fields and types are by the server's OpenAPI document, and are not checked when it answers none.
 */
export async function mistakesIn(
  service: Service,
  requests: readonly DeclaredRequest[],
): Promise<Called<readonly string[]>> {
  const read = await service.call("GET", "sys/internal/specs/openapi?generic_mount_paths=true");
  if (!read.ok && read.error.status === null) return read;
  const document = read.ok ? DOCUMENT.safeParse(read.value.body) : null;
  const paths = document?.success ? document.data.paths : {};
  const types = mountTypesIn(paths);
  return ok(
    requests.flatMap((request) => {
      const { path, data } = request;
      const fields = wrongFields(data, fieldsAt(paths, path));
      const settings = isMount(path) && isFields(data.config) ? data.config : {};
      const ofConfig = wrongFields(settings, fieldsAt(paths, `${path}/tune`)).map((text) => `config: ${text}`);
      const others = [...wrongType(request, types), ...wrongPolicy(request)];
      return [...fields, ...ofConfig, ...others].map((text) => `${placeOf(request)}: ${text}`);
    }),
  );
}

/** Types of mounts that have the paths of another type. */
const SAME_PATHS: Readonly<Record<string, string>> = { oidc: "jwt" };

/** The types of mounts that a server can make. */
export function mountTypesIn(paths: Readonly<Record<string, unknown>>): readonly string[] {
  const named = Object.keys(paths).flatMap((path) => /^\/auth\/\{(\w+)_mount_path\}\//.exec(path)?.[1] ?? []);
  const others = Object.entries(SAME_PATHS).flatMap(([type, other]) => (named.includes(other) ? [type] : []));
  return [...new Set([...named, ...others])].sort();
}

function wrongType({ path, data: { type } }: DeclaredRequest, types: readonly string[]): string[] {
  if (!isMount(path) || typeof type !== "string" || types.length === 0) return [];
  // The mount of tokens is always there: only its settings can be declared.
  if (types.includes(type) || (type === "token" && path === "sys/auth/token")) return [];
  return [`type: the server has no such auth method; it has ${types.join(", ")}${didYouMean(type, types)}`];
}

/** A policy of the environment is not parsed: the message could repeat a part of it. */
function wrongPolicy({ path, data: { policy }, origins }: DeclaredRequest): string[] {
  if (!/^sys\/polic(?:ies\/acl|y)\//.test(path) || typeof policy !== "string" || origins.has("policy")) return [];
  const parsed = parsePolicy(policy, currentTime());
  return parsed.ok ? [] : [policyErrorText(parsed.error)];
}

/** The kinds that a field of each name can have. */
type Known = ReadonlyMap<string, readonly z.infer<typeof FIELD>[]>;

function wrongFields(data: Readonly<Record<string, unknown>>, known: Known | null): string[] {
  if (known === null) return [];
  return Object.entries(data).flatMap(([name, value]) => {
    const kinds = known.get(name);
    if (kinds === undefined) return [`the server knows no field "${name}" here${didYouMean(name, [...known.keys()])}`];
    const problems = kinds.map((kind) => problemOf(kind, value));
    const [problem] = problems;
    return problem && !problems.includes(null) ? [`${name}: ${problem}`] : [];
  });
}

/** Why a value can't be one of a field of this kind, without the value; null when it may be one. */
function problemOf({ type, format }: z.infer<typeof FIELD>, value: unknown): string | null {
  if (value === null) return null;
  const read = READERS[format === "seconds" || format === "duration" ? "duration" : type]?.(value);
  return read === undefined || read.ok ? null : read.error;
}

/** How the server reads the kinds of fields whose values have few forms. */
const READERS: Readonly<Record<string, (value: unknown) => Result<unknown, string>>> = {
  boolean: (value) => (value === "" ? ok(false) : flag(false).read(value)),
  duration: (value) => looseDuration().read(value),
  integer: (value) => (decimal().read(value === "" ? 0 : value).ok ? ok(value) : err("expected a whole number")),
  number: (value) => decimal().read(value),
};

/** The fields of a write to a path; null when the path is not described, or accepts any field. */
function fieldsAt(paths: Paths, path: string): Known | null {
  const schemas = Object.entries(paths).flatMap(([template, { post }]) => {
    const schema = post?.requestBody?.content["application/json"]?.schema;
    return schema && isOf(template, path) ? [schema] : [];
  });
  if (
    schemas.length === 0 ||
    schemas.some(({ additionalProperties: others }) => others !== undefined && others !== false)
  )
    return null;
  const known = new Map<string, z.infer<typeof FIELD>[]>();
  for (const { properties = {} } of schemas) {
    for (const [name, kind] of Object.entries(properties)) known.set(name, [...(known.get(name) ?? []), kind]);
  }
  return known;
}

/**
 * True when a template such as `/auth/{jwt_mount_path}/role/{name}` matches a path. Below `auth/` the templates of all
 * methods are tried, since the type of the mount is not known.
 */
function isOf(template: string, path: string): boolean {
  const words = template.split("/").slice(1);
  if (words[0] === "auth" && words[1] !== "token") {
    const [, below = ""] = /^auth\/(?!token\/).+?\/((?:config|role)(?:\/.*)?)$/.exec(path) ?? [];
    return below !== "" && patternOf(words.slice(2)).test(below);
  }
  return patternOf(words).test(path);
}

/** A parameter at the end may contain slashes, as the path of a mount does. */
function patternOf(words: readonly string[]): RegExp {
  const isEnd = (at: number) => at === words.length - 1 || words[at + 1] === "tune";
  const parts = words.map((word, at) =>
    word.startsWith("{") ? (isEnd(at) ? ".+" : "[^/]+") : word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"),
  );
  return new RegExp(`^${parts.join("/")}$`);
}
