import { isolates } from "./isolates.ts";
import { err, ok, type Result } from "./result.ts";

/** Where the platform can be asked to put a new object (developers.cloudflare.com/durable-objects/reference/data-location). */
export const LOCATION_HINTS = [
  "wnam",
  "enam",
  "sam",
  "weur",
  "eeur",
  "apac",
  "apac-ne",
  "apac-se",
  "oc",
  "afr",
  "me",
] as const satisfies readonly DurableObjectLocationHint[];
export type LocationHint = (typeof LOCATION_HINTS)[number];

/** What a client sent as a location hint. null: none, which is sent as an empty text. */
export function readLocationHint(sent: string): Result<LocationHint | null, string> {
  if (sent === "") return ok(null);
  const hint = LOCATION_HINTS.find((known) => known === sent);
  return hint ? ok(hint) : err(`location_hint must be one of ${LOCATION_HINTS.join(", ")}`);
}

/** Where the platform can be bound to keep and run objects. */
const JURISDICTIONS = ["eu", "fedramp", "fedramp-high", "us"] as const satisfies readonly DurableObjectJurisdiction[];
type Jurisdiction = (typeof JURISDICTIONS)[number];

interface WithJurisdiction {
  readonly JURISDICTION?: string;
}

/** The objects of a class, which the platform can limit to a jurisdiction. */
interface WithinJurisdictions<Objects> {
  jurisdiction(jurisdiction: Jurisdiction): Objects;
}

/** Why the setting JURISDICTION can't be used, as a message for operators; null when it can. */
export function jurisdictionProblem({ JURISDICTION: set = "" }: WithJurisdiction): string | null {
  if (set === "") return null;
  if (!jurisdictionOf(set)) return `Grove is sealed: JURISDICTION must be one of ${JURISDICTIONS.join(", ")}, or empty`;
  return !isolates().areMany
    ? "Grove is sealed: JURISDICTION is for Cloudflare's network, and all data are here"
    : null;
}

/**
 * The objects of a class, as this installation may use them: those within its jurisdiction. Every object is found through here, so
 * that none is made outside.
 *
 * @throws when the setting names no jurisdiction: nothing may be written anywhere else instead.
 */
export function within<Objects extends WithinJurisdictions<Objects>>(env: WithJurisdiction, objects: Objects): Objects {
  const { JURISDICTION: set = "" } = env;
  if (set === "") return objects;
  const jurisdiction = jurisdictionOf(set);
  if (!jurisdiction) throw new Error("JURISDICTION names no jurisdiction");
  return objects.jurisdiction(jurisdiction);
}

function jurisdictionOf(set: string): Jurisdiction | undefined {
  return JURISDICTIONS.find((known) => known === set);
}
