import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { TokenSummary } from "../../client/answers.d.ts";
import { capitalized, counted } from "../format.ts";
import { href } from "../href.ts";
import { EndingOfRole } from "../methods/ending-of-role.tsx";
import { needsOf } from "../needed-capabilities.ts";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { countOfGroup } from "../tokens/count-of-group.ts";
import { AllowedLink, Card, Icon, Notice, useLoad, Warnings } from "../ui/index.ts";
import { ActionButton, DeleteButton } from "./confirm.tsx";
import { type FieldGroup, newNameMistake, type RecordValue } from "./field.ts";
import { NameList } from "./name-list.tsx";
import type { Collection, Scope } from "./part.ts";
import { RecordFacts } from "./record-facts.tsx";
import { RecordForm } from "./record-form.tsx";
import { recordOf, type TerraformResource } from "./request-commands.ts";

interface CollectionPartProps {
  readonly scope: Scope;
  readonly part: Collection;
  /** The selected name; "" without one. */
  readonly name: string;
  readonly isNew: boolean;
  /** Content above the fields of the selected record. */
  readonly above?: ((record: RecordValue, name: string) => ComponentChildren) | undefined;
  /** Further content below the selected record. */
  readonly more?: ((endpoint: string, record: RecordValue, name: string) => ComponentChildren) | undefined;
}

/** The form's field for the name of a new record, which is in the path and not in the body. */
const NAME = "name of the record";

/** The records of one kind (roles, certificates), and a form for the selected record. */
export function CollectionPart({ scope, part, name, isNew, above, more }: CollectionPartProps) {
  const { api } = useSession();
  const listPath = scope.endpoint(part.listPath ?? part.itemPath);
  const names = useLoad(listPath, () => api.list(listPath));
  const [made, setMade] = useState("");
  // The message about a new record is shown on its page, until the user leaves it.
  useEffect(() => (made !== "" && made === name ? () => setMade("") : undefined), [name, made]);
  const placeOf = (one: string): string => scope.page({ part: part.part, name: one });
  return (
    <div class="columns">
      {isNew && (
        <NewRecord
          scope={scope}
          part={part}
          names={names.value ?? []}
          onMade={(one) => {
            setMade(one);
            names.reload();
            go(placeOf(one), "replace");
          }}
        />
      )}
      {!isNew && name !== "" && (
        <OneRecord
          key={name}
          scope={scope}
          part={part}
          name={name}
          isMade={made === name}
          above={above}
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
          title: `No ${part.many ?? part.title.toLowerCase()} yet`,
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
        {part.canAdd !== false && (
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

/** The Terraform resource of a record whose name is a field of the form. */
const withName = (resource: TerraformResource): TerraformResource => ({
  ...resource,
  renamed: { ...resource.renamed, [NAME]: resource.name ?? "name" },
});

interface NewRecordProps {
  readonly scope: Scope;
  readonly part: Collection;
  /** Existing names. */
  readonly names: readonly string[];
  readonly onMade: (name: string) => void;
}

function NewRecord({ scope, part, names, onMade }: NewRecordProps) {
  const [first, ...others] = part.groups;
  const named: FieldGroup = {
    title: first?.title ?? capitalized(part.one),
    fields: [{ name: NAME, label: capitalized(part.one), kind: "text", required: true }, ...(first?.fields ?? [])],
  };
  return (
    <Card title={<>New {part.one}</>} body>
      <RecordForm
        groups={[named, ...others]}
        record={null}
        action={`Make the ${part.one}`}
        mistake={({ [NAME]: name }) => {
          const text = newNameMistake(String(name), names, part.isRole);
          return text === "" ? null : { field: NAME, text };
        }}
        request={({ [NAME]: name, ...body }) => ({ path: scope.endpoint(part.itemPath, String(name)), body })}
        terraform={part.terraform && recordOf(withName(part.terraform), scope.mount)}
        onSaved={({ [NAME]: name }) => onMade(String(name))}
      />
    </Card>
  );
}

interface OneRecordProps extends Pick<CollectionPartProps, "scope" | "part" | "name" | "above" | "more"> {
  /** True when it was just created. */
  readonly isMade: boolean;
  readonly onDeleted: () => void;
}

function OneRecord({ scope, part, name, isMade, above, more, onDeleted }: OneRecordProps) {
  const { api } = useSession();
  const path = scope.endpoint(part.itemPath, name);
  const record = useLoad(path, () => api.call<RecordValue | null>(path));
  const value = record.value?.data;
  const groups = part.groups.map(({ title, fields }) => ({
    title,
    fields: fields.filter((field) => !field.isOnlyNew),
  }));
  return (
    <div class="stack">
      {value && isMade && <Notice tone="good" title={`The ${part.one} ${name} is made`} />}
      {value && above?.(value, name)}
      <Card
        of={record}
        title={
          <span class="break">
            {capitalized(part.one)} {name}
          </span>
        }
        beside={
          <div class="row">
            {part.itemAction && (
              <ActionButton path={`${path}/${part.itemAction.path}`} action={part.itemAction} onDone={record.reload} />
            )}
            <DeleteButton path={path} name={name} title={`Delete the ${part.one}`} onDone={onDeleted}>
              <p>{part.loss}</p>
              {value?.token_ends_with_secret_id === true && <EndingOfRole path={path} name={name} />}
              {part.isRole === true && scope.mount !== undefined && <TokensOfRole mount={scope.mount} role={name} />}
            </DeleteButton>
          </div>
        }
        body
      >
        {value && <Warnings of={record.value} />}
        {value && part.groups.length === 0 && <RecordFacts record={value} />}
        {value && part.groups.length > 0 && (
          <RecordForm
            groups={groups}
            record={value}
            action="Save"
            request={(body) => ({ path, body })}
            terraform={part.terraform && recordOf(part.terraform, scope.mount, name)}
            onSaved={record.reload}
          />
        )}
      </Card>
      {value && more?.(path, value, name)}
    </div>
  );
}

/** The number of live tokens of a role, if the policies allow to count them. */
function TokensOfRole({ mount, role }: { readonly mount: string; readonly role: string }) {
  const { api } = useSession();
  const summary = useLoad(`${mount} ${role}`, () =>
    api.read<TokenSummary>("sys/tokens/summary", { group_by: "role", mount: `auth/${mount}/` }),
  );
  if (!summary.value) return null;
  const tokens = countOfGroup(summary.value, role);
  return (
    <p>
      {tokens === null
        ? "How many live tokens came by it is not known."
        : `${counted(tokens, "live token")} came by it.`}{" "}
      <a href={href(["tokens"], { mount: `auth/${mount}/`, role })}>Show them</a>
    </p>
  );
}
