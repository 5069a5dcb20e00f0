import type { Group } from "../../client/answers.d.ts";
import { counted } from "../format.ts";
import { Aliases } from "./aliases.tsx";
import { GroupForm } from "./group-form.tsx";
import { type CardProps, IdentityCard } from "./identity-card.tsx";
import { type Alias, GROUP } from "./record-fields.ts";
import { Related } from "./related.tsx";

/** One group: its policies and its members. */
export function GroupCard(props: CardProps) {
  return (
    <IdentityCard<Group>
      {...props}
      kind="group"
      title="Group"
      groups={GROUP}
      form={GroupForm}
      deletion={({ policies, member_entity_ids: entities, member_group_ids: groups }) => (
        <p>
          Its members stay, and lose its policies ({policies.join(", ") || "it has none"}) within seconds:{" "}
          {counted(entities?.length ?? 0, "entity", "entities")}, and those of {counted(groups?.length ?? 0, "group")}{" "}
          in it.
        </p>
      )}
    >
      {(group, reload) => (
        <>
          {group.type === "external" && (
            <Aliases
              kind="group-alias"
              owner={group.id}
              aliases={isAlias(group.alias) ? [group.alias] : []}
              onChange={reload}
            />
          )}
          <Related title="Members" part="entities" ids={group.member_entity_ids ?? []} />
          <Related title="Groups in it" part="groups" ids={group.member_group_ids ?? []} />
          <Related title="Groups that it is in" part="groups" ids={group.parent_group_ids} />
        </>
      )}
    </IdentityCard>
  );
}

const isAlias = (alias: Partial<Alias>): alias is Alias => alias.id !== undefined;
