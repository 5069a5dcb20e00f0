import { useState } from "preact/hooks";
import { pathOf } from "../api-path.ts";
import { href } from "../href.ts";
import { needsOf } from "../needs.ts";
import { Confirm } from "../records/confirm.tsx";
import { useSession } from "../session.ts";
import { AllowedButton } from "../ui/allowed.tsx";
import { Aliases } from "./aliases.tsx";
import { type CardProps, IdentityCard } from "./identity-card.tsx";
import { ENTITY, type Entity } from "./records.ts";
import { Related } from "./related.tsx";

/** The endpoint that ends the tokens of an entity. */
const watermarkOf = ({ id }: Entity): string => `identity/entity/id/${pathOf(id)}/not-before`;

/** One entity: its fields, its aliases, its groups, and the revocation of all its tokens. */
export function EntityCard(props: CardProps) {
  const { api } = useSession();
  const [ending, setEnding] = useState<Entity | null>(null);
  return (
    <>
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
            <AllowedButton
              look="button slim danger"
              needs={needsOf(watermarkOf(entity))}
              onClick={() => setEnding(entity)}
            >
              End its tokens…
            </AllowedButton>
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
      {ending && (
        <Confirm
          title={`End the tokens of ${ending.name}`}
          typing={ending.name}
          action="End them"
          send={() => api.call(watermarkOf(ending), { body: { not_before: "now" } })}
          onDone={() => setEnding(null)}
          onClose={() => setEnding(null)}
        >
          <p>All tokens that it got until now are refused, with everything below them. It can log in again.</p>
        </Confirm>
      )}
    </>
  );
}
