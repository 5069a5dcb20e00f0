import type { ComponentChildren } from "preact";
import type { Entity } from "../../client/answers.d.ts";
import { pathOf } from "../href.ts";
import { DeleteButton } from "../records/confirm.tsx";
import type { FieldGroup } from "../records/field.ts";
import type { RecordForm } from "../records/record-form.tsx";
import { useSession } from "../session.ts";
import { Card, Time, useLoad, useTabTitle } from "../ui/index.ts";

/** The entity or group, and how the page reacts to a new name and to its deletion. */
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
  readonly form: typeof RecordForm;
  /** Consequences of its deletion. */
  readonly deletion: (found: T) => ComponentChildren;
  /** A name for people when the record's own name was generated; "" otherwise. */
  readonly calledBy?: (found: T) => string;
  /** Other names of the record, such as its aliases. */
  readonly alsoKnown?: (found: T) => string;
  /** Buttons beside "Delete". */
  readonly actions?: (found: T, reload: () => void) => ComponentChildren;
  /** Further cards below. */
  readonly children: (found: T, reload: () => void) => ComponentChildren;
}

type Named = Pick<Entity, "id" | "name" | "creation_time">;

/** One entity or group: its fields, and its deletion. */
export function IdentityCard<T extends Named>(props: IdentityCardProps<T>) {
  const {
    by,
    value,
    kind,
    title,
    groups,
    form: Form,
    deletion,
    calledBy,
    alsoKnown,
    actions,
    children,
    onRenamed,
    onDeleted,
  } = props;
  const { api } = useSession();
  const record = useLoad(`${by} ${value}`, () => api.read<T>(`identity/${kind}/${by}/${pathOf(value)}`));
  const found = record.value;
  const known = (found && alsoKnown?.(found)) ?? "";
  const called = (found && calledBy?.(found)) ?? "";
  const name = found?.name ?? value;
  useTabTitle(found ? `${title} ${called || name}` : "");
  const path = `identity/${kind}/id/${pathOf(found?.id ?? "")}`;
  return (
    <div class="stack">
      <Card
        of={record}
        title={
          <span class="break">
            {title} {called || name}
            {called !== "" && <span class="muted"> · {name}</span>}
            {known !== "" && <span class="muted"> · {known}</span>}
          </span>
        }
        beside={
          found && (
            <div class="row">
              {actions?.(found, record.reload)}
              <DeleteButton path={path} name={called || name} title={`Delete ${called || name}`} onDone={onDeleted}>
                {deletion(found)}
              </DeleteButton>
            </div>
          )
        }
        body
      >
        {found && (
          <>
            <p class="muted">
              <code>{found.id}</code> · made <Time at={found.creation_time} both />
            </p>
            <Form
              groups={groups}
              record={Object.fromEntries(Object.entries(found))}
              action="Save"
              request={(body) => ({ path, body })}
              terraform={{ resource: { type: `vault_identity_${kind}` } }}
              working="Saving: the answer comes when every part of the service knows it"
              onSaved={({ name }) => {
                if (typeof name === "string") onRenamed(name);
                else record.reload();
              }}
            />
          </>
        )}
      </Card>
      {found && children(found, record.reload)}
    </div>
  );
}
