import * as z from "zod";
import { ok } from "../../src/base/result.ts";
import { type Called, failed } from "../grove/client.ts";
import { didYouMean } from "../local/did-you-mean.ts";
import { isFields } from "./compare-fields.ts";
import { isMount } from "./declarable-paths.ts";
import type { DeclaredRequest } from "./declaration.ts";
import { placeOf } from "./plan-lines.ts";
import type { Service } from "./plan-step.ts";

const SCHEMA = z.looseObject({
  properties: z.record(z.string(), z.unknown()).optional(),
  additionalProperties: z.unknown().optional(),
});
const BODY = z.looseObject({
  content: z.looseObject({ "application/json": z.looseObject({ schema: SCHEMA }).optional() }),
});
const DOCUMENT = z.looseObject({
  paths: z.record(z.string(), z.looseObject({ post: z.looseObject({ requestBody: BODY.optional() }).optional() })),
});
type Paths = z.infer<typeof DOCUMENT>["paths"];

/** Refuses a declaration with an unknown name of a field, before anything of it is written. */
export async function refuseUnknownFields(
  service: Service,
  requests: readonly DeclaredRequest[],
): Promise<Called<null>> {
  const mistakes = await unknownFields(service, requests);
  return mistakes.length === 0 ? ok(null) : failed([...mistakes, "nothing was written"].join("\n"));
}

/**
 * Unknown names of fields, as lines for the operator: a server ignores a field that it does not know. The names are
 * compared with the server's OpenAPI document. Empty when the document can't be read.
 */
export async function unknownFields(service: Service, requests: readonly DeclaredRequest[]): Promise<string[]> {
  const read = await service.call("GET", "sys/internal/specs/openapi?generic_mount_paths=true");
  const document = read.ok ? DOCUMENT.safeParse(read.value.body) : null;
  if (!document?.success) return [];
  const { paths } = document.data;
  return requests.flatMap((request) => {
    const { path, data } = request;
    const fields = mistakesIn(Object.keys(data), fieldsAt(paths, path));
    const settings = isMount(path) && isFields(data.config) ? Object.keys(data.config) : [];
    const ofConfig = mistakesIn(settings, fieldsAt(paths, `${path}/tune`)).map((text) => `config: ${text}`);
    return [...fields, ...ofConfig].map((text) => `${placeOf(request)}: ${text}`);
  });
}

function mistakesIn(names: readonly string[], known: ReadonlySet<string> | null): string[] {
  if (known === null) return [];
  const unknown = names.filter((name) => !known.has(name));
  return unknown.map((name) => `the server knows no field "${name}" here${didYouMean(name, [...known])}`);
}

/** The fields of a write to a path; null when the path is not described, or accepts any field. */
function fieldsAt(paths: Paths, path: string): ReadonlySet<string> | null {
  const schemas = Object.entries(paths).flatMap(([template, { post }]) => {
    const schema = post?.requestBody?.content["application/json"]?.schema;
    return schema && isOf(template, path) ? [schema] : [];
  });
  if (
    schemas.length === 0 ||
    schemas.some(({ additionalProperties: others }) => others !== undefined && others !== false)
  )
    return null;
  return new Set(schemas.flatMap(({ properties = {} }) => Object.keys(properties)));
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
