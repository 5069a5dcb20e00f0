import type { Release } from "./objects.ts";
import { type Calls, cost, OPERATIONS } from "./operations.ts";
import type { World } from "./world.ts";

/** Calls that go on in a world, so many times a second. */
export interface Stream {
  readonly calls: Calls;
  readonly perSecond: number;
}

/** An isolate reads the installation anew when four fifths of POLICY_CACHE_SECONDS (5) have passed. */
const POLL_SECONDS = 4;
/** Token roles that one isolate needs at a time. */
const ROLES_OF_AN_ISOLATE = 2;
/** POLICY_CACHE_SECONDS: how long an isolate remembers a token role. */
const CACHE_SECONDS = 5;
/** An isolate tells once a minute how much it has encrypted. */
const KEY_USE_SECONDS = 60;
/** Every live tree is tidied once in this time. */
const TIDY_SECONDS = 3_600;

/** What nobody asked for in a request: reading of copies, ends of tokens, tidy. */
export function background(world: World, release: Release): Stream[] {
  const { isolates, rates, liveTrees } = world;
  const ends: Calls = release === "now" ? OPERATIONS.revoke.afterwards : { "AccessorShard.remove": cost(2, 2) };
  return [
    { calls: { "System.snapshot": cost(release === "now" ? 0 : 1, 0) }, perSecond: isolates / POLL_SECONDS },
    { calls: { "System.noteEncryptions": cost(3, 1) }, perSecond: isolates / KEY_USE_SECONDS },
    ...(release === "now" ? [rolesRead(world)] : []),
    // What is made has to end. Revoked tokens are counted with their revocation.
    { calls: ends, perSecond: Math.max(0, births(world) - rates.revoke) },
    { calls: { "Tidy.step": cost(2, 2), "TokenTree.tidy": cost(6, 0) }, perSecond: liveTrees / TIDY_SECONDS },
  ];
}

function rolesRead({ isolates, rates }: World): Stream {
  const refreshed = (isolates * ROLES_OF_AN_ISOLATE) / CACHE_SECONDS;
  return { calls: { "TokenRoles.read": cost(1, 0) }, perSecond: Math.min(rates.createByRole, refreshed) };
}

/** Service tokens that are made in a second. */
function births({ rates }: World): number {
  const { createChild, createByRole, createOrphan, loginByDocument, loginBySignature } = rates;
  return createChild + createByRole + createOrphan + loginByDocument + loginBySignature;
}
