import type { AuthMounts } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { listedName } from "../entity-names.ts";
import { href } from "../href.ts";
import { belowMount } from "../methods/mount-paths.ts";
import { PARTS } from "../methods/parts-by-type.ts";
import { listedEntities, listedGroups } from "../read-names.ts";
import { listResources } from "../teams/resource-api.ts";
import {
  type Organization,
  type Team,
  type TeamToken,
  teamOf,
  teamsPath,
  teamTokenName,
  tokensPath,
} from "../teams/resources.ts";
import { MOST_MOUNTS, MOST_NAMES, MOST_ORGANIZATIONS } from "./cut-lists.ts";
import type { Found } from "./search-result.ts";

/** All names but those of groups, whose list not everybody may read. */
export const namesIn = async (api: Api): Promise<readonly Found[]> =>
  (await Promise.all([entities(api), policies(api), methodsAndRoles(api), teams(api)])).flat();

async function entities(api: Api): Promise<readonly Found[]> {
  return (await listedEntities(api)).map(([id, entity]) => ({
    kind: "Entities",
    name: listedName(entity),
    detail: [
      ...(entity.disabled ? ["disabled"] : []),
      ...(listedName(entity) === entity.name ? [] : [entity.name]),
      ...entity.aliases.map((alias) => `${alias.name} (${alias.mount_path ?? "no method"})`),
    ].join(", "),
    ids: [
      id,
      ...entity.aliases.map((alias) => alias.id),
      ...paths(`identity/entity/id/${id}`, `identity/entity/name/${entity.name}`),
    ],
    href: href(["identity"], { id }),
  }));
}

export async function groupsIn(api: Api): Promise<readonly Found[]> {
  const byId = await listedGroups(api);
  // The list by id may be refused where that by name is not.
  const all = byId.length > 0 ? byId : (await list(api, "identity/group/name")).map((name) => ["", name] as const);
  return all.map(([id, name]) => ({
    kind: "Groups",
    name,
    detail: "",
    ids: [id, ...paths(`identity/group/id/${id}`, `identity/group/name/${name}`)],
    href: href(["identity"], { part: "groups", name }),
  }));
}

async function policies(api: Api): Promise<readonly Found[]> {
  return (await list(api, "sys/policies/acl")).map((name) => ({
    kind: "Policies",
    name,
    detail: "",
    ids: paths(`sys/policies/acl/${name}`, `sys/policy/${name}`),
    href: href(["policies", name]),
  }));
}

async function methodsAndRoles(api: Api): Promise<readonly Found[]> {
  const mounts = await api.read<AuthMounts>("sys/auth");
  if (!mounts.ok) return [];
  const all = Object.entries(mounts.value).map(([path, mount]) => ({ path: path.replace(/\/$/, ""), ...mount }));
  const methods: readonly Found[] = all.map(({ path, type, description, accessor, uuid }) => ({
    kind: "Auth methods",
    name: `auth/${path}/`,
    detail: [type, description].filter(Boolean).join(" · "),
    ids: [accessor.toLowerCase(), uuid, ...paths(`sys/auth/${path}`)],
    href: href(["methods", path]),
  }));
  const roles = await Promise.all(all.slice(0, MOST_MOUNTS).map(({ path, type }) => rolesOf(api, path, type)));
  return [...methods, ...roles.flat()];
}

async function rolesOf(api: Api, mount: string, type: string): Promise<readonly Found[]> {
  const part = (PARTS[type] ?? []).find((one) => one.part === "roles");
  if (part?.kind !== "collection") return [];
  return (await list(api, belowMount(mount, part.listPath ?? part.itemPath))).map((name) => ({
    kind: "Roles",
    name,
    detail: `auth/${mount}/`,
    ids: [`auth/${mount}/${part.itemPath}/${name}`.toLowerCase()],
    href: href(["methods", mount], { part: part.part, name }),
  }));
}

async function teams(api: Api): Promise<readonly Found[]> {
  const answer = await listResources<Organization>(api, teamsPath("organizations"), 1);
  if (!answer.ok) return [];
  const organizations = answer.value.items.map(({ id }) => id);
  const read = organizations.slice(0, MOST_ORGANIZATIONS);
  const below = await Promise.all(read.flatMap((name) => [teamsOf(api, name), tokensOf(api, name)]));
  const found = organizations.map((name) => ({
    kind: "Teams" as const,
    name,
    detail: "organization",
    ids: paths(`organizations/${name}`),
    href: href(["teams", name]),
  }));
  return [...found, ...below.flat()];
}

async function teamsOf(api: Api, organization: string): Promise<readonly Found[]> {
  const answer = await listResources<Team>(api, teamsPath("organizations", organization, "teams"), 1);
  if (!answer.ok) return [];
  return answer.value.items.map(({ id, attributes }) => ({
    kind: "Teams",
    name: attributes.name,
    detail: `team of ${organization}`,
    ids: paths(id, `teams/${id}`),
    href: href(["teams", organization, id]),
  }));
}

/** The tokens of its teams, by their descriptions. */
async function tokensOf(api: Api, organization: string): Promise<readonly Found[]> {
  const answer = await listResources<TeamToken>(api, tokensPath(organization), 1);
  if (!answer.ok) return [];
  return answer.value.items.map((token) => ({
    kind: "Tokens of teams",
    name: teamTokenName(token.attributes),
    detail: organization,
    ids: paths(token.id),
    href: href(["teams", organization, teamOf(token)]),
  }));
}

/** Paths as they are compared with a typed text. */
const paths = (...all: readonly string[]): readonly string[] => all.map((path) => path.toLowerCase());

async function list(api: Api, path: string): Promise<readonly string[]> {
  const answer = await api.read<{ readonly keys: readonly string[] }>(path, { list: true, limit: MOST_NAMES });
  return answer.ok ? answer.value.keys : [];
}
