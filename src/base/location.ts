import type { Deployment } from "./deployment.ts";
import { err, ok, type Result } from "./result.ts";

/** Location hints for new objects (developers.cloudflare.com/durable-objects/reference/data-location). */
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

/** Reads a location hint as a client sent it; the empty text means none (null). The error is for the client. */
export function readLocationHint(sent: string): Result<LocationHint | null, string> {
  if (sent === "") return ok(null);
  const hint = LOCATION_HINTS.find((known) => known === sent);
  return hint ? ok(hint) : err(`location_hint must be one of ${LOCATION_HINTS.join(", ")}`);
}

/** Jurisdictions to which the platform can restrict where objects are stored and run. */
const JURISDICTIONS = ["eu", "fedramp", "fedramp-high", "us"] as const satisfies readonly DurableObjectJurisdiction[];
type Jurisdiction = (typeof JURISDICTIONS)[number];

interface WithJurisdiction {
  readonly JURISDICTION?: string;
}

interface WithinJurisdictions<Objects> {
  jurisdiction(jurisdiction: Jurisdiction): Objects;
}

/** Why the setting JURISDICTION can't be used, as a message for operators; null when it can. */
export function jurisdictionProblem({
  JURISDICTION: set = "",
  deployment,
}: WithJurisdiction & { readonly deployment: Pick<Deployment, "offersJurisdictions"> }): string | null {
  if (set === "") return null;
  if (!jurisdictionOf(set)) return `Grove is sealed: JURISDICTION must be one of ${JURISDICTIONS.join(", ")}, or empty`;
  return deployment.offersJurisdictions
    ? null
    : "Grove is sealed: JURISDICTION is for Cloudflare's network, and all data are here";
}

/**
 * Restricts a namespace of objects to the jurisdiction of this installation. Every stub is made through this function,
 * so that no object is made outside. @throws when JURISDICTION is unknown, so that no data is written outside one.
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
