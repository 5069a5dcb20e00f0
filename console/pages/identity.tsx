import type { EntityList } from "../../client/answers.d.ts";
import { listedName } from "../entity-names.ts";
import { href } from "../href.ts";
import { EntityCard } from "../identity/entity-card.tsx";
import { GroupCard } from "../identity/group-card.tsx";
import { GroupForm } from "../identity/group-form.tsx";
import { ENTITY, GROUP } from "../identity/record-fields.ts";
import { needsOf } from "../needed-capabilities.ts";
import { NameList } from "../records/name-list.tsx";
import { RecordForm } from "../records/record-form.tsx";
import { done } from "../result.ts";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { AllowedLink, Card, Icon, PageHead, Tabs, UnknownValues, unknownIn, useLoad } from "../ui/index.ts";

/** Most entities whose aliases are read for the list. */
const MOST_CALLED = 2_000;

const KINDS = {
  entities: {
    path: "identity/entity",
    title: "Entities",
    one: "entity",
    groups: ENTITY,
    form: RecordForm,
    card: EntityCard,
    empty: {
      title: "No entities yet",
      text: "The first login of a person creates one. It stays the same whichever method the person signs in with.",
    },
  },
  groups: {
    path: "identity/group",
    title: "Groups",
    one: "group",
    groups: GROUP,
    form: GroupForm,
    card: GroupCard,
    empty: { title: "No groups yet", text: "A group gives its policies to all its members." },
  },
} as const;

/** The list of entities or groups, and the selected one. */
export function IdentityPage({ query }: { readonly query: URLSearchParams }) {
  const { api } = useSession();
  const part = query.get("part") === "groups" ? "groups" : "entities";
  const unknown = unknownIn(query, { part: Object.keys(KINDS) });
  const { path, title, one, groups, form: Form, card: Details, empty } = KINDS[part];
  const name = query.get("name") ?? "";
  const id = query.get("id") ?? "";
  const names = useLoad(path, () => api.list(`${path}/name`));
  // A generated name means nothing to people, so the list by id is read for the aliases. Without the right to it, only
  // names are shown.
  const called = useLoad(`called ${part}`, async () => {
    const answer =
      part === "groups" ? null : await api.read<Partial<EntityList>>(`${path}/id`, { list: true, limit: MOST_CALLED });
    const entities = answer?.ok ? Object.values(answer.value.key_info ?? {}) : [];
    return done(
      new Map(entities.map((entity) => [entity.name, { name: listedName(entity), disabled: entity.disabled }])),
    );
  });
  const placeOf = (shown: string): string => href(["identity"], { part, name: shown });
  const goTo = (address: string): void => {
    names.reload();
    go(address, "replace");
  };
  return (
    <>
      <PageHead title="Entities and groups" />
      <Tabs
        label="Kinds"
        current={part}
        tabs={(["entities", "groups"] as const).map((kind) => ({
          name: kind,
          title: KINDS[kind].title,
          href: href(["identity"], { part: kind }),
        }))}
      />
      <UnknownValues names={unknown} />
      <div class="columns">
        {query.has("new") && (
          <Card title={<>New {one}</>} body>
            <Form
              key={part}
              groups={groups}
              record={null}
              action={`Make the ${one}`}
              request={(body) => ({ path, body })}
              terraform={{ resource: { type: `vault_identity_${one}` } }}
              onSaved={({ name: made }) => goTo(placeOf(String(made)))}
            />
          </Card>
        )}
        {!query.has("new") && (name !== "" || id !== "") && (
          <Details
            key={`${part} ${id} ${name}`}
            by={id === "" ? "name" : "id"}
            value={id === "" ? name : id}
            onRenamed={(renamed) => goTo(placeOf(renamed))}
            onDeleted={() => goTo(href(["identity"], { part }))}
          />
        )}
        <NameList
          key={part}
          title={title}
          names={called.value ? names : { ...names, value: null, busy: true }}
          current={name}
          placeOf={placeOf}
          knownAs={(one) => called.value?.get(one)?.name ?? ""}
          beside={
            part === "entities"
              ? (one) => called.value?.get(one)?.disabled && <span class="tag bad">disabled</span>
              : undefined
          }
          empty={empty}
        >
          <AllowedLink look="button slim" needs={needsOf(path)} href={href(["identity"], { part, new: "1" })}>
            <Icon name="plus" size={13} /> New {one}
          </AllowedLink>
        </NameList>
      </div>
    </>
  );
}
