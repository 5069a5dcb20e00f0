import type { FieldGroup } from "../records/field.ts";

/** An alias in the answer about an entity or group. */
export interface Alias {
  readonly id: string;
  readonly name: string;
  readonly mount_path: string;
  readonly mount_type: string;
}

export interface Entity {
  readonly id: string;
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly policies: readonly string[];
  readonly disabled: boolean;
  readonly creation_time: string;
  readonly aliases: readonly Alias[];
  readonly direct_group_ids: readonly string[];
  readonly inherited_group_ids: readonly string[];
}

export interface Group {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly policies: readonly string[];
  readonly metadata: Readonly<Record<string, string>> | null;
  /** Null where they can't be set. */
  readonly member_entity_ids: readonly string[] | null;
  readonly member_group_ids: readonly string[] | null;
  readonly parent_group_ids: readonly string[];
  readonly alias: Partial<Alias>;
  readonly creation_time: string;
}

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
      { name: "member_entity_ids", label: "Members, by id", kind: "names", when: ["type", "internal"] },
      { name: "member_group_ids", label: "Groups in it, by id", kind: "names", when: ["type", "internal"] },
    ],
  },
];
