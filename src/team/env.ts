import type { EndpointEnv } from "../lease/env.ts";
import type { SystemEnv } from "../system/env.ts";
import type { Organization } from "./organization.ts";
import type { OrganizationDirectory } from "./organization-directory.ts";
import type { Team } from "./team.ts";

/** The bindings and settings that organizations and teams use. */
export interface TeamEnv extends SystemEnv, EndpointEnv {
  readonly TEAM: DurableObjectNamespace<Team>;
  readonly ORGANIZATION: DurableObjectNamespace<Organization>;
  readonly ORGANIZATION_DIRECTORY: DurableObjectNamespace<OrganizationDirectory>;
}
