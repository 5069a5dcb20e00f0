import { useState } from "preact/hooks";
import type { Entity } from "../../client/answers.d.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import type { AuditQuestion } from "../audit/read-events.ts";
import { Timeline } from "../audit/timeline.tsx";
import { entityName, isGenerated } from "../entity-names.ts";
import { href } from "../href.ts";
import type { CountedBefore } from "../receipts/counted-before.ts";
import { RecordForm } from "../records/record-form.tsx";
import { done } from "../result.ts";
import { mayDo, useSession } from "../session.ts";
import { amountText } from "../tokens/amount.ts";
import { EndingNumbers } from "../tokens/ending-numbers.tsx";
import { readTokens } from "../tokens/token-api.ts";
import { useLoad } from "../ui/index.ts";
import { Aliases } from "./aliases.tsx";
import { EndTokens } from "./end-tokens.tsx";
import { EndedTokens } from "./ended-tokens.tsx";
import { type CardProps, IdentityCard } from "./identity-card.tsx";
import { aliasNames, ENTITY } from "./record-fields.ts";
import { Related } from "./related.tsx";

/** One entity: its fields, its aliases, its groups, and the revocation of all its tokens. */
export function EntityCard(props: CardProps) {
  const [end, setEnd] = useState<CountedBefore | null>(null);
  return (
    <IdentityCard<Entity>
      {...props}
      kind="entity"
      title="Entity"
      groups={ENTITY}
      form={RecordForm}
      deletion={({ id }) => (
        <>
          <EndingNumbers selection={{ entity_id: id }} />
          <p>Its aliases go with it, and it leaves its groups. Its tokens are refused.</p>
        </>
      )}
      calledBy={(entity) => (isGenerated(entity.name) ? entityName(entity) : "")}
      alsoKnown={(entity) => [aliasNames(entity), entity.disabled && "disabled"].filter(Boolean).join(" · ")}
      actions={(entity, reload) => (
        <>
          <TokensLink key={`${entity.id} ${end !== null}`} id={entity.id} />
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
          <Related title="Groups that it is in" part="groups" ids={direct} />
          <Related title="Groups that these are in" part="groups" ids={inherited} />
          {/* Reloads after the tokens were ended on this page. */}
          <EntityTimeline key={`${id} ${end !== null}`} id={id} />
        </>
      )}
    </IdentityCard>
  );
}

/** Most tokens of an entity that are counted for the link. */
const MOST_COUNTED = 100;

/** A link to the tokens of an entity, with their number where the token may list them. */
function TokensLink({ id }: { readonly id: string }) {
  const session = useSession();
  const mayList = mayDo(session, ASKED_PATHS.tokens, "read", "sudo");
  const listed = useLoad(id, async () =>
    mayList ? readTokens(session.api, { entity_id: id }, MOST_COUNTED) : done(null),
  );
  const { tokens, more } = listed.value ?? {};
  return (
    <a class="button slim" href={href(["tokens"], { entity_id: id })}>
      Its tokens{tokens && ` (${amountText({ count: tokens.length, more: more === true })})`}
    </a>
  );
}

/** The events of an entity. The user's own events can be read without `sudo`. */
function EntityTimeline({ id }: { readonly id: string }) {
  const session = useSession();
  const isOwn = session.self.entity_id === id && !mayDo(session, ASKED_PATHS.audit, "read", "sudo");
  const question: AuditQuestion = isOwn ? {} : { entity_id: id };
  return <Timeline title="Timeline" question={question} isOwn={isOwn} empty="Nothing is recorded of it" />;
}
