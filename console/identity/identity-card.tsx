import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { pathOf } from "../api-path.ts";
import { needsOf } from "../needs.ts";
import { Confirm } from "../records/confirm.tsx";
import type { FieldGroup } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { useSession } from "../session.ts";
import { AllowedButton } from "../ui/allowed.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../ui/use-load.ts";

/** Which entity or group, and what the page does when it has another name or is gone. */
export interface CardProps {
  readonly by: "name" | "id";
  readonly value: string;
  readonly onRenamed: (name: string) => void;
  readonly onDeleted: () => void;
}

interface IdentityCardProps<T> extends CardProps {
  readonly kind: "entity" | "group";
  readonly title: string;
  readonly groups: readonly FieldGroup[];
  /** What deleting it means. */
  readonly deletion: string;
  /** Buttons beside the one that deletes it. */
  readonly actions?: (found: T) => ComponentChildren;
  /** What follows the card. */
  readonly children: (found: T, reload: () => void) => ComponentChildren;
}

interface Named {
  readonly id: string;
  readonly name: string;
  readonly creation_time: string;
}

/** One entity or group: its fields, and its deletion. */
export function IdentityCard<T extends Named>(props: IdentityCardProps<T>) {
  const { by, value, kind, title, groups, deletion, actions, children, onRenamed, onDeleted } = props;
  const { api } = useSession();
  const [asking, setAsking] = useState(false);
  const record = useLoad(`${by} ${value}`, () => api.read<T>(`identity/${kind}/${by}/${pathOf(value)}`));
  const found = record.value;
  const path = `identity/${kind}/id/${pathOf(found?.id ?? "")}`;
  return (
    <div class="stack">
      <section class="card" aria-labelledby={kind}>
        <header>
          <h2 id={kind} class="break">
            {title} {found?.name ?? value}
          </h2>
          {found && (
            <div class="row">
              {actions?.(found)}
              <AllowedButton look="button slim danger" needs={needsOf(path, "DELETE")} onClick={() => setAsking(true)}>
                Delete…
              </AllowedButton>
            </div>
          )}
        </header>
        <div class="body stack">
          {record.problem && <ProblemNotice problem={record.problem} onRetry={record.reload} />}
          {found && (
            <>
              <p class="muted">
                <code>{found.id}</code> · made <Time at={found.creation_time} both />
              </p>
              <RecordForm
                groups={groups}
                record={Object.fromEntries(Object.entries(found))}
                action="Save"
                request={(body) => ({ path, body })}
                terraform={{ resource: { type: `vault_identity_${kind}` } }}
                onSaved={({ name }) => {
                  if (typeof name === "string") onRenamed(name);
                  else record.reload();
                }}
              />
            </>
          )}
        </div>
      </section>
      {found && children(found, record.reload)}
      {asking && found && (
        <Confirm
          title={`Delete ${found.name}`}
          typing={found.name}
          action="Delete"
          send={() => api.call(path, { method: "DELETE" })}
          onDone={onDeleted}
          onClose={() => setAsking(false)}
        >
          <p>{deletion}</p>
        </Confirm>
      )}
    </div>
  );
}
