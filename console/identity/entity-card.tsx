import { useState } from "preact/hooks";
import type { Entity } from "../../client/answers.d.ts";
import type { AuditQuestion } from "../audit/read-events.ts";
import { Timeline } from "../audit/timeline.tsx";
import { entityName, isGenerated } from "../entity-names.ts";
import { href } from "../href.ts";
import { ASKED_PATHS, mayDo, useSession } from "../session.ts";
import { Aliases } from "./aliases.tsx";
import { type EndOfTokens, EndTokens } from "./end-tokens.tsx";
import { EndedTokens } from "./ended-tokens.tsx";
import { type CardProps, IdentityCard } from "./identity-card.tsx";
import { aliasNames, ENTITY } from "./record-fields.ts";
import { Related } from "./related.tsx";

/** One entity: its fields, its aliases, its groups, and the revocation of all its tokens. */
export function EntityCard(props: CardProps) {
  const [end, setEnd] = useState<EndOfTokens | null>(null);
  return (
    <IdentityCard<Entity>
      {...props}
      kind="entity"
      title="Entity"
      groups={ENTITY}
      deletion="Its aliases go with it, and it leaves its groups. Its tokens are refused."
      calledBy={(entity) => (isGenerated(entity.name) ? entityName(entity) : "")}
      alsoKnown={(entity) => [aliasNames(entity), entity.disabled && "disabled"].filter(Boolean).join(" · ")}
      actions={(entity, reload) => (
        <>
          <a class="button slim" href={href(["tokens"], { entity_id: entity.id })}>
            Its tokens
          </a>
          <EndTokens
            entity={entity}
            onEnded={(ended) => {
              setEnd(ended);
              // The entity may have been disabled too.
              reload();
            }}
          />
        </>
      )}
    >
      {({ id, disabled, aliases, direct_group_ids: direct, inherited_group_ids: inherited }, reload) => (
        <>
          <EndedTokens key={id} entity={{ id, disabled }} end={end} />
          <Aliases kind="entity-alias" owner={id} aliases={aliases} onChange={reload} />
          <Related title="Groups that it is in" part="groups" ids={[...direct, ...inherited]} />
          {/* Reloads after the tokens were ended on this page. */}
          <EntityTimeline key={`${id} ${end !== null}`} id={id} />
        </>
      )}
    </IdentityCard>
  );
}

/** The events of an entity. The user's own events can be read without `sudo`. */
function EntityTimeline({ id }: { readonly id: string }) {
  const session = useSession();
  const isOwn = session.self.entity_id === id && !mayDo(session, ASKED_PATHS.audit, "read", "sudo");
  const question: AuditQuestion = isOwn ? {} : { entity_id: id };
  return <Timeline title="Timeline" question={question} isOwn={isOwn} empty="Nothing is recorded of it" />;
}
