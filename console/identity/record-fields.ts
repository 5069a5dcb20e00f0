import type { Entity } from "../../client/answers.d.ts";
import { entityName } from "../entity-names.ts";
import type { FieldGroup } from "../records/field.ts";

export type Alias = Entity["aliases"][number];

/** Most names of aliases in a title. */
const NAMED = 3;

/** The names of an entity's aliases, besides the name that it is shown by. */
export function aliasNames(entity: Pick<Entity, "name" | "aliases">): string {
  const shown = entityName(entity);
  const others = [...new Set(entity.aliases.map((alias) => alias.name))].filter((alias) => alias !== shown);
  return [...others.slice(0, NAMED), ...(others.length > NAMED ? ["…"] : [])].join(", ");
}

const NAMES_OR_IDS = "Names or ids, one a line.";

export const ENTITY: readonly FieldGroup[] = [
  {
    title: "Entity",
    fields: [
      { name: "name", label: "Name", kind: "text", required: true },
      { name: "policies", label: "Policies", kind: "names", hint: "All its tokens have them beside their own." },
      { name: "metadata", label: "Metadata", kind: "pairs" },
      { name: "disabled", label: "Disabled: its tokens are refused", kind: "flag" },
    ],
  },
];

export const GROUP: readonly FieldGroup[] = [
  {
    title: "Group",
    fields: [
      { name: "name", label: "Name", kind: "text", required: true },
      {
        name: "type",
        label: "Type",
        kind: "choice",
        choices: ["internal", "external"],
        fixed: true,
        hint: "external: a login says who is in it.",
      },
      { name: "policies", label: "Policies", kind: "names", hint: "Tokens of its members have them." },
      { name: "metadata", label: "Metadata", kind: "pairs" },
      { name: "member_entity_ids", label: "Members", kind: "names", hint: NAMES_OR_IDS, when: ["type", "internal"] },
      {
        name: "member_group_ids",
        label: "Groups in it",
        kind: "names",
        hint: NAMES_OR_IDS,
        when: ["type", "internal"],
      },
    ],
  },
];
