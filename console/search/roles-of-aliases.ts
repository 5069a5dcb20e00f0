import type { Entity } from "../../client/answers.d.ts";
import { href } from "../href.ts";
import type { Found } from "./search-result.ts";

type Alias = Pick<Entity["aliases"][number], "name" | "mount_path" | "metadata">;

/** The roles whose role-id is the name of an alias. */
export const rolesOfAliases = (aliases: readonly Alias[], roleId: string): readonly Found[] =>
  aliases.flatMap(({ name, mount_path: path = "", metadata }) => {
    const role = metadata?.role_name;
    const mount = /^auth\/(.+)\/$/.exec(path)?.[1];
    if (name !== roleId || !role || mount === undefined) return [];
    const detail = `auth/${mount}/, with this role-id`;
    return [{ kind: "Roles", name: role, detail, href: href(["methods", mount], { part: "roles", name: role }) }];
  });
