import type { AuditEvent } from "../audit/event.ts";
import { href } from "../href.ts";
import type { Found } from "./search-result.ts";

/** The id of a team's token. */
export const TEAM_TOKEN = /^at-[\w-]+$/;
/** The role in the path of a request about secret-ids. */
const ROLE_PATH = /^auth\/(.+)\/role\/([^/]+)\/(?:secret-id|custom-secret-id)/;

/** The role of the secret-id, and the list of events. */
export function foundByEvents(events: readonly AuditEvent[], accessor: string): readonly Found[] {
  if (events.length === 0) return [];
  const isOfTeam = TEAM_TOKEN.test(accessor);
  const list: Found = {
    kind: "Lists",
    name: isOfTeam ? "Events of this token of a team" : "Events of the secret-id with this accessor",
    detail: "what was done with it, and its end",
    href: href(["audit"], { accessor }),
  };
  const [role] = isOfTeam ? [] : events.flatMap(roleOfEvent);
  return role ? [secretIdAtRole(role, accessor, "role of the secret-id with this accessor"), list] : [list];
}

interface RolePlace {
  /** The mount without `auth/`. */
  readonly mount: string;
  readonly name: string;
}

function roleOfEvent({ path = "", mount: at = "", role }: AuditEvent): readonly RolePlace[] {
  const [, ofPath, name] = ROLE_PATH.exec(path) ?? [];
  if (ofPath !== undefined && name !== undefined) return [{ mount: ofPath, name }];
  const mount = /^auth\/(.+)\/$/.exec(at)?.[1];
  return mount !== undefined && role ? [{ mount, name: role }] : [];
}

/** The page of a role, with one of its secret-ids marked. */
export const secretIdAtRole = ({ mount, name }: RolePlace, accessor: string, detail: string): Found => ({
  kind: "Roles",
  name,
  detail,
  href: href(["methods", mount], { part: "roles", name, secret_id: accessor }),
});
