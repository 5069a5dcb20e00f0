import { useState } from "preact/hooks";
import { pathOf } from "../api.ts";
import { Confirm } from "../records/confirm.tsx";
import { RecordForm } from "../records/record-form.tsx";
import { useSession } from "../session.ts";
import { ProblemNotice } from "../ui/notice.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../ui/use-load.ts";
import { Aliases } from "./aliases.tsx";
import { type Alias, GROUP, type Group } from "./records.ts";
import { Related } from "./related.tsx";

interface GroupCardProps {
  readonly by: "name" | "id";
  readonly value: string;
  readonly onRenamed: (name: string) => void;
  readonly onDeleted: () => void;
}

/** One group: what its members get, and who they are. */
export function GroupCard({ by, value, onRenamed, onDeleted }: GroupCardProps) {
  const { api } = useSession();
  const [asking, setAsking] = useState(false);
  const group = useLoad(`${by} ${value}`, () => api.read<Group>(`identity/group/${by}/${pathOf(value)}`));
  const found = group.value;
  const path = `identity/group/id/${pathOf(found?.id ?? "")}`;
  const alias = found && isAlias(found.alias) ? [found.alias] : [];
  return (
    <div class="stack">
      <section class="card" aria-labelledby="group">
        <header>
          <h2 id="group" class="break">
            Group {found?.name ?? value}
          </h2>
          {found && (
            <button type="button" class="button slim danger" onClick={() => setAsking(true)}>
              Delete…
            </button>
          )}
        </header>
        <div class="body stack">
          {group.problem && <ProblemNotice problem={group.problem} onRetry={group.reload} />}
          {found && (
            <>
              <p class="muted">
                <code>{found.id}</code> · made <Time at={found.creation_time} both />
              </p>
              <RecordForm
                groups={GROUP}
                record={{ ...found }}
                action="Save"
                send={(body) => api.call(path, { body })}
                onSaved={({ name }) => {
                  if (typeof name === "string") onRenamed(name);
                  else group.reload();
                }}
              />
            </>
          )}
        </div>
      </section>
      {found?.type === "external" && (
        <Aliases kind="group-alias" owner={found.id} aliases={alias} onChange={group.reload} />
      )}
      {found && (
        <>
          <Related title="Members" part="entities" ids={found.member_entity_ids ?? []} />
          <Related title="Groups in it" part="groups" ids={found.member_group_ids ?? []} />
          <Related title="Groups that it is in" part="groups" ids={found.parent_group_ids} />
        </>
      )}
      {asking && found && (
        <Confirm
          title={`Delete ${found.name}`}
          typing={found.name}
          action="Delete"
          send={() => api.call(path, { method: "DELETE" })}
          onDone={onDeleted}
          onClose={() => setAsking(false)}
        >
          <p>Its members lose what it gives them, at once. They stay.</p>
        </Confirm>
      )}
    </div>
  );
}

const isAlias = (alias: Partial<Alias>): alias is Alias => alias.id !== undefined;
