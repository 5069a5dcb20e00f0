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
import { ENTITY, type Entity } from "./records.ts";
import { Related } from "./related.tsx";

interface EntityCardProps {
  /** The name, or the id. */
  readonly by: "name" | "id";
  readonly value: string;
  readonly onRenamed: (name: string) => void;
  readonly onDeleted: () => void;
}

/** One entity: its fields, its aliases, its groups, and the revocation of all its tokens. */
export function EntityCard({ by, value, onRenamed, onDeleted }: EntityCardProps) {
  const { api } = useSession();
  const [asking, setAsking] = useState<"" | "end" | "delete">("");
  const entity = useLoad(`${by} ${value}`, () => api.read<Entity>(`identity/entity/${by}/${pathOf(value)}`));
  const found = entity.value;
  const path = `identity/entity/id/${pathOf(found?.id ?? "")}`;
  const groups = [...(found?.direct_group_ids ?? []), ...(found?.inherited_group_ids ?? [])];
  return (
    <div class="stack">
      <section class="card" aria-labelledby="entity">
        <header>
          <h2 id="entity" class="break">
            Entity {found?.name ?? value}
          </h2>
          {found && (
            <div class="row">
              <a class="button slim" href={href(["tokens"], { entity_id: found.id })}>
                Its tokens
              </a>
              <button type="button" class="button slim danger" onClick={() => setAsking("end")}>
                End its tokens…
              </button>
              <button type="button" class="button slim danger" onClick={() => setAsking("delete")}>
                Delete…
              </button>
            </div>
          )}
        </header>
        <div class="body stack">
          {entity.problem && <ProblemNotice problem={entity.problem} onRetry={entity.reload} />}
          {found && (
            <>
              <p class="muted">
                <code>{found.id}</code> · made <Time at={found.creation_time} both />
              </p>
              <RecordForm
                groups={ENTITY}
                record={{ ...found }}
                action="Save"
                send={(body) => api.call(path, { body })}
                onSaved={({ name }) => {
                  if (typeof name === "string") onRenamed(name);
                  else entity.reload();
                }}
              />
            </>
          )}
        </div>
      </section>
      {found && <Aliases kind="entity-alias" owner={found.id} aliases={found.aliases} onChange={entity.reload} />}
      <Related title="Groups that it is in" part="groups" ids={groups} />
      {asking === "end" && found && (
        <Confirm
          title={`End the tokens of ${found.name}`}
          typing={found.name}
          action="End them"
          send={() => api.call(`${path}/not-before`, { body: { not_before: "now" } })}
          onDone={() => setAsking("")}
          onClose={() => setAsking("")}
        >
          <p>All tokens that it got until now are refused, with everything below them. It can log in again.</p>
        </Confirm>
      )}
      {asking === "delete" && found && (
        <Confirm
          title={`Delete ${found.name}`}
          typing={found.name}
          action="Delete"
          send={() => api.call(path, { method: "DELETE" })}
          onDone={onDeleted}
          onClose={() => setAsking("")}
        >
          <p>Its aliases go with it, and it leaves its groups. Its tokens are refused.</p>
        </Confirm>
      )}
    </div>
  );
}
