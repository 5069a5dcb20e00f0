import { useState } from "preact/hooks";
import { pathOf } from "../api.ts";
import { href } from "../href.ts";
import { Confirm } from "../records/confirm.tsx";
import { RecordForm } from "../records/record-form.tsx";
import { useSession } from "../session.ts";
import { ProblemNotice } from "../ui/notice.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../ui/use-load.ts";
import { Aliases } from "./aliases.tsx";
import { type Alias, GROUP, type Group } from "./records.ts";

interface GroupCardProps {
  readonly by: "name" | "id";
  readonly value: string;
  readonly onRenamed: (name: string) => void;
  readonly onDeleted: () => void;
}

/** Members that are links at once. */
const LISTED = 100;

/** One group: what its members get, and who they are. */
export function GroupCard({ by, value, onRenamed, onDeleted }: GroupCardProps) {
  const { api } = useSession();
  const [asking, setAsking] = useState(false);
  const group = useLoad(`${by} ${value}`, () => api.read<Group>(`identity/group/${by}/${pathOf(value)}`));
  const found = group.value;
  const path = `identity/group/id/${pathOf(found?.id ?? "")}`;
  const alias = found && isAlias(found.alias) ? [found.alias] : [];
  const related = [
    ["entities", "Members", found?.member_entity_ids ?? []],
    ["groups", "Groups in it", found?.member_group_ids ?? []],
    ["groups", "Groups that it is in", found?.parent_group_ids ?? []],
  ] as const;
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
      {related.map(
        ([part, title, ids]) =>
          ids.length > 0 && (
            <section key={title} class="card" aria-label={title}>
              <header>
                <h2>{title}</h2>
                <span class="muted number">{ids.length}</span>
              </header>
              <ul class="names">
                {ids.slice(0, LISTED).map((id) => (
                  <li key={id}>
                    <a class="mono break" href={href(["identity"], { part, id })}>
                      {id}
                    </a>
                  </li>
                ))}
              </ul>
            </section>
          ),
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
