import { inPool } from "../../../src/base/parallel.ts";
import { asCalled } from "../../local/command-line.ts";
import { MOUNTS } from "../answer-schemas.ts";
import type { Filter } from "../arguments.ts";
import type { GroveClient } from "../client.ts";
import { readCommand } from "../curl.ts";
import { isMalformed, nothingIs } from "../id-formats.ts";
import { harmless } from "../terminal.ts";

/** Most mounts that are asked about a role, and how many in parallel. */
const ASKED_MOUNTS = 50;
const AT_ONCE = 8;

/** What no filter and no search can select, for an answer that selects nothing: such tokens may be alive. */
export const NOT_LISTED = (): string =>
  `tokens of teams, organizations and batch tokens are in no list of tokens: the console has the first two in the page of their team or organization, and ${asCalled("find")} says of any text what it is and what ends it`;

/**
 * When a filter selects nothing, says which of its names does not exist: a mistyped name must not look like a service
 * without tokens. null when all names exist, or the token may not look.
 */
export async function unknownName(client: GroveClient, filter: Filter): Promise<string | null> {
  const { entity_id: entity, policy, role, mount } = filter;
  if (typeof entity === "string" && isMalformed("entity", entity)) return nothingIs("entity", entity);
  if (typeof policy === "string" && (await isMissing(client, `sys/policies/acl/${encodeURIComponent(policy)}`)))
    return `there is no policy "${harmless(policy)}", and no token has it: ${readCommand("sys/policies/acl", "list")} names them`;
  if (typeof role === "string" && (await isNoRole(client, role, typeof mount === "string" ? mount : null)))
    return `there is no role "${harmless(role)}"${typeof mount === "string" ? ` at ${harmless(mount)}` : ""}, and no token was created by it`;
  return null;
}

/** True when none of the mounts has a role of this name. False also when the token may not read all of them. */
async function isNoRole(client: GroveClient, role: string, mount: string | null): Promise<boolean> {
  const mounts = mount === null ? await mountsOf(client) : [mount];
  if (mounts === null) return false;
  const name = encodeURIComponent(role);
  const missing = await inPool(mounts, AT_ONCE, (path) =>
    isMissing(client, `${path.replace(/\/*$/, "/")}${/^auth\/token\/*$/.test(path) ? "roles" : "role"}/${name}`),
  );
  return missing.every((one) => one);
}

/** The mounts, with `auth/`; null when they can't be read, or are more than ASKED_MOUNTS. */
async function mountsOf(client: GroveClient): Promise<readonly string[] | null> {
  const read = await client.get("sys/auth", MOUNTS);
  if (!read.ok) return null;
  const paths = Object.keys(read.value).map((path) => `auth/${path}`);
  return paths.length > ASKED_MOUNTS ? null : paths;
}

async function isMissing(client: GroveClient, path: string): Promise<boolean> {
  const read = await client.call("GET", path);
  return !read.ok && read.error.status === 404;
}
