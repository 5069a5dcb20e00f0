import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needs.ts";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { AllowedButton, AllowedLink } from "../ui/allowed.tsx";
import { Icon } from "../ui/icons.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { useLoad } from "../ui/use-load.ts";
import { ActionButton } from "./action-button.tsx";
import { recordOf, type TerraformResource } from "./commands.ts";
import { Confirm } from "./confirm.tsx";
import { RecordFacts } from "./facts.tsx";
import type { FieldGroup, RecordValue } from "./field.ts";
import { NameList } from "./name-list.tsx";
import { newNameMistake } from "./new-name.ts";
import type { Collection } from "./part.ts";
import { RecordForm } from "./record-form.tsx";
import type { Scope } from "./scope.ts";

interface CollectionPartProps {
  readonly scope: Scope;
  readonly part: Collection;
  /** The one that is shown; "" for none. */
  readonly name: string;
  readonly isNew: boolean;
  /** More about the one that is shown, below its fields. */
  readonly more?: ((endpoint: string, record: RecordValue) => ComponentChildren) | undefined;
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** The name of a record that is made here stands beside its fields, and is no field of the API. */
const NAME = "name of the record";

/** Roles, certificates, entries of a list: all of one kind, and one of them to look at and change. */
export function CollectionPart({ scope, part, name, isNew, more }: CollectionPartProps) {
  const { api } = useSession();
  const listPath = scope.endpoint(part.listPath);
  const names = useLoad(listPath, () => api.list(listPath));
  const placeOf = (one: string): string => scope.page({ part: part.part, name: one });
  return (
    <div class="columns">
      {isNew && (
        <NewRecord
          scope={scope}
          part={part}
          names={names.value ?? []}
          onMade={(made) => {
            names.reload();
            go(placeOf(made), "replace");
          }}
        />
      )}
      {!isNew && name !== "" && (
        <OneRecord
          key={name}
          scope={scope}
          part={part}
          name={name}
          more={more}
          onDeleted={() => {
            names.reload();
            go(scope.page({ part: part.part }), "replace");
          }}
        />
      )}
      <NameList
        title={part.title}
        names={names}
        current={name}
        placeOf={placeOf}
        empty={{
          title: `No ${part.title === "Access list" || part.title === "Deny list" ? "entries" : part.title.toLowerCase()} yet`,
          text: part.empty,
        }}
        beside={
          part.isRole === true && scope.mount !== undefined
            ? (one) => <a href={href(["tokens"], { mount: `auth/${scope.mount}/`, role: one })}>tokens</a>
            : undefined
        }
      >
        {part.action && (
          <ActionButton path={scope.endpoint(part.action.path)} action={part.action} onDone={names.reload} />
        )}
        {part.canAdd && (
          <AllowedLink
            look="button slim"
            needs={needsOf(scope.endpoint(part.itemPath, "new"))}
            isExample
            href={scope.page({ part: part.part, new: "1" })}
          >
            <Icon name="plus" size={13} /> New {part.one}
          </AllowedLink>
        )}
      </NameList>
    </div>
  );
}

/** The resource of a record whose name is typed. */
const withName = (resource: TerraformResource): TerraformResource => ({
  ...resource,
  renamed: { ...resource.renamed, [NAME]: resource.name ?? "name" },
});

interface NewRecordProps {
  readonly scope: Scope;
  readonly part: Collection;
  /** Those that there are. */
  readonly names: readonly string[];
  readonly onMade: (name: string) => void;
}

function NewRecord({ scope, part, names, onMade }: NewRecordProps) {
  const [first, ...others] = part.groups;
  const named: FieldGroup = {
    title: first?.title ?? capital(part.one),
    fields: [{ name: NAME, label: capital(part.one), kind: "text", required: true }, ...(first?.fields ?? [])],
  };
  return (
    <section class="card" aria-labelledby="new-record">
      <header>
        <h2 id="new-record">New {part.one}</h2>
      </header>
      <div class="body">
        <RecordForm
          groups={[named, ...others]}
          record={null}
          action={`Make the ${part.one}`}
          mistake={({ [NAME]: name }) => newNameMistake(String(name), names, part.isRole)}
          request={({ [NAME]: name, ...body }) => ({ path: scope.endpoint(part.itemPath, String(name)), body })}
          terraform={part.terraform && recordOf(withName(part.terraform), scope.mount)}
          onSaved={({ [NAME]: name }) => onMade(String(name))}
        />
      </div>
    </section>
  );
}

interface OneRecordProps extends Pick<CollectionPartProps, "scope" | "part" | "name" | "more"> {
  readonly onDeleted: () => void;
}

function OneRecord({ scope, part, name, more, onDeleted }: OneRecordProps) {
  const { api } = useSession();
  const [asking, setAsking] = useState(false);
  const path = scope.endpoint(part.itemPath, name);
  const record = useLoad(path, () => api.read<RecordValue | null>(path));
  const value = record.value;
  return (
    <div class="stack">
      <section class="card" aria-labelledby="one-record">
        <header>
          <h2 id="one-record" class="break">
            {capital(part.one)} {name}
          </h2>
          <div class="row">
            {part.itemAction && (
              <ActionButton path={`${path}/${part.itemAction.path}`} action={part.itemAction} onDone={record.reload} />
            )}
            <AllowedButton look="button slim danger" needs={needsOf(path, "DELETE")} onClick={() => setAsking(true)}>
              Delete…
            </AllowedButton>
          </div>
        </header>
        <div class="body">
          {record.problem && <ProblemNotice problem={record.problem} onRetry={record.reload} />}
          {value && part.groups.length === 0 && <RecordFacts record={value} />}
          {value && part.groups.length > 0 && (
            <RecordForm
              groups={part.groups}
              record={value}
              action="Save"
              request={(body) => ({ path, body })}
              terraform={part.terraform && recordOf(part.terraform, scope.mount, name)}
              onSaved={record.reload}
            />
          )}
        </div>
        {asking && (
          <Confirm
            title={`Delete the ${part.one}`}
            typing={name}
            action="Delete"
            send={() => api.call(path, { method: "DELETE" })}
            onDone={onDeleted}
            onClose={() => setAsking(false)}
          >
            <p>{part.loss}</p>
            {part.isRole === true && scope.mount !== undefined && <TokensOfRole mount={scope.mount} role={name} />}
          </Confirm>
        )}
      </section>
      {value && more?.(path, value)}
    </div>
  );
}

/** How many tokens came by a role, where the policies let one know. */
function TokensOfRole({ mount, role }: { readonly mount: string; readonly role: string }) {
  const { api } = useSession();
  const summary = useLoad(`${mount} ${role}`, () =>
    api.read<{ readonly groups: readonly { readonly key: string; readonly count: number }[] }>("sys/tokens/summary", {
      group_by: "role",
      mount: `auth/${mount}/`,
    }),
  );
  if (!summary.value) return null;
  const tokens = summary.value.groups.find(({ key }) => key === role)?.count ?? 0;
  return (
    <p>
      {counted(tokens, "token")} came by it. <a href={href(["tokens"], { mount: `auth/${mount}/`, role })}>Show them</a>
    </p>
  );
}
