import type { Round } from "../round.ts";
import { cubbyhole } from "./cubbyhole.ts";
import { identity } from "./identity.ts";
import { leases } from "./leases.ts";
import { mounts } from "./mounts.ts";
import { policies } from "./policies.ts";
import { roles } from "./roles.ts";
import { tokens } from "./tokens.ts";
import { wrapping } from "./wrapping.ts";

/** The parts of the interface that are compared, by name. */
export const AREAS: Readonly<Record<string, (round: Round) => Promise<void>>> = {
  tokens,
  roles,
  policies,
  cubbyhole,
  mounts,
  leases,
  wrapping,
  identity,
};
