import type { Entity } from "../../client/answers.d.ts";
import { href, pathOf } from "../href.ts";
import { needsOf } from "../needs.ts";
import { ConfirmButton } from "../records/confirm.tsx";
import { useSession } from "../session.ts";
import { Aliases } from "./aliases.tsx";
import { type CardProps, IdentityCard } from "./identity-card.tsx";
import { ENTITY } from "./records.ts";
import { Related } from "./related.tsx";

/** One entity: its fields, its aliases, its groups, and the revocation of all its tokens. */
export function EntityCard(props: CardProps) {
  return (
    <IdentityCard<Entity>
      {...props}
      kind="entity"
      title="Entity"
      groups={ENTITY}
      deletion="Its aliases go with it, and it leaves its groups. Its tokens are refused."
      actions={(entity) => (
        <>
          <a class="button slim" href={href(["tokens"], { entity_id: entity.id })}>
            Its tokens
          </a>
          <EndTokens {...entity} />
        </>
      )}
    >
      {({ id, aliases, direct_group_ids: direct, inherited_group_ids: inherited }, reload) => (
        <>
          <Aliases kind="entity-alias" owner={id} aliases={aliases} onChange={reload} />
          <Related title="Groups that it is in" part="groups" ids={[...direct, ...inherited]} />
        </>
      )}
    </IdentityCard>
  );
}

function EndTokens({ id, name }: Entity) {
  const { api } = useSession();
  const path = `identity/entity/id/${pathOf(id)}/not-before`;
  return (
    <ConfirmButton
      label="End its tokens…"
      needs={needsOf(path)}
      title={`End the tokens of ${name}`}
      typing={name}
      action="End them"
      send={() => api.call(path, { body: { not_before: "now" } })}
      onDone={() => {}}
    >
      <p>All tokens that it got until now are refused, with everything below them. It can log in again.</p>
    </ConfirmButton>
  );
}
