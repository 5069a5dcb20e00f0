import { ok } from "../../src/base/result.ts";
import type { Answer, Called, CallFailure, GroveClient } from "../grove/client.ts";
import { encodedPath } from "../local/encoded-path.ts";
import { compare, type FieldDifference, isFields, OWN_PATHS } from "./compare-fields.ts";
import { isMount } from "./declarable-paths.ts";
import type { DeclaredRequest } from "./declaration.ts";
import type { Json } from "./value-references.ts";

/** What has to be done for a request of a declaration. */
export interface Step {
  readonly request: DeclaredRequest;
  /** "conflict": no request can change the current setting into the declared one. */
  readonly action: "add" | "change" | "none" | "conflict";
  readonly differences: readonly FieldDifference[];
  /** Fields that no answer shows. */
  readonly unread: readonly string[];
}

/** The calls of a client that a declaration needs. */
export type Service = Pick<GroveClient, "call">;

/** Compares a request with what the service has. */
export async function stepFor(service: Service, request: DeclaredRequest): Promise<Called<Step>> {
  const read = await service.call("GET", encodedPath(request.path));
  // The settings of a mount that does not exist answer 400.
  const absent = request.path.startsWith("sys/") ? [400, 404] : [404];
  const isAbsent = !read.ok && absent.includes(read.error.status ?? 0);
  if (!read.ok && !isAbsent) return read;
  const answered = read.ok ? dataIn(read.value) : null;
  if (answered === null) return ok({ request, action: "add", differences: [], unread: [] });
  const compared = compare(request, { ...answered, ...(await ownPaths(service, request, answered)) });
  const action =
    compared.differences.length === 0 ? "none" : isFixed(request, compared.differences) ? "conflict" : "change";
  return ok({ request, action, ...compared });
}

/** The declared fields that have a path of their own, as far as the caller may read it. */
async function ownPaths(
  service: Service,
  { path, data }: DeclaredRequest,
  answered: Readonly<Record<string, unknown>>,
) {
  const found: Record<string, unknown> = {};
  for (const [field, below] of Object.entries(OWN_PATHS)) {
    if (!Object.hasOwn(data, field) || Object.hasOwn(answered, field)) continue;
    const read = await service.call("GET", encodedPath(`${path}/${below}`));
    const current = read.ok ? dataIn(read.value) : null;
    if (current !== null) found[field] = current[field];
  }
  return found;
}

/** The `data` of an answer; null without one. */
export function dataIn({ body }: Answer): Readonly<Record<string, unknown>> | null {
  return isFields(body) && isFields(body.data) ? body.data : null;
}

/** True when a mount differs in more than its settings, such as in its type: no request can change that. */
function isFixed({ path }: DeclaredRequest, differences: readonly FieldDifference[]): boolean {
  const isSetting = (field: string) => field === "description" || field.startsWith("config.");
  return isMount(path) && !differences.every(({ field }) => isSetting(field));
}

/** Writes what a step asks for, and returns the warnings of the answer. */
export async function carryOut(service: Service, step: Step): Promise<Called<readonly string[]>> {
  const { path, data } = step.action === "change" ? changeOf(step.request) : step.request;
  const written = await service.call("POST", encodedPath(path), data);
  if (!written.ok) {
    // The answer of an earlier try can be lost: a mount is enabled once.
    const again = await stepFor(service, step.request);
    return again.ok && again.value.action === "none" ? ok([]) : written;
  }
  const { body } = written.value;
  const warnings = isFields(body) && Array.isArray(body.warnings) ? body.warnings : [];
  return ok(warnings.filter((one): one is string => typeof one === "string"));
}

/** The request that changes an existing setting. An enabled mount is changed by its path `tune`. */
function changeOf({ path, data }: DeclaredRequest): Pick<DeclaredRequest, "path" | "data"> {
  if (!isMount(path)) return { path, data };
  const settings: Readonly<Record<string, unknown>> = isFields(data.config) ? data.config : {};
  const description = data.description === undefined ? {} : { description: data.description };
  return { path: `${path}/tune`, data: { ...(settings as Record<string, Json>), ...description } };
}

/** How far the requests of a declaration were applied. */
export interface Outcome {
  readonly applied: readonly Step[];
  /** The requests after it were not tried. */
  readonly refused: { readonly request: DeclaredRequest; readonly failure: CallFailure } | null;
}

/**
 * Applies requests in their order, each compared first with what the service has then, up to the first refusal. Safe to
 * repeat: what is there already is not written again.
 *
 * @param done called after each request that was written, with the warnings of the answer.
 */
export async function applyRequests(
  service: Service,
  requests: readonly DeclaredRequest[],
  done: (step: Step, warnings: readonly string[]) => void = () => {},
): Promise<Outcome> {
  const applied: Step[] = [];
  for (const request of requests) {
    const step = await stepFor(service, request);
    if (!step.ok) return { applied, refused: { request, failure: step.error } };
    if (step.value.action === "none") continue;
    if (step.value.action === "conflict") return { applied, refused: { request, failure: conflictOf(step.value) } };
    const written = await carryOut(service, step.value);
    if (!written.ok) return { applied, refused: { request, failure: written.error } };
    applied.push(step.value);
    done(step.value, written.value);
  }
  return { applied, refused: null };
}

function conflictOf({ differences }: Step): CallFailure {
  const fields = differences.map(({ field }) => field).join(", ");
  return { status: null, message: `there is a mount with another ${fields}, which can't be changed: disable it first` };
}
