import { useEffect, useRef } from "preact/hooks";
import type { Entity } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { pathOf } from "../href.ts";
import type { CountedBefore } from "../receipts/counted-before.ts";
import { EndOrphans } from "../receipts/end-orphans.tsx";
import { ExportRevocation } from "../receipts/export-revocation.tsx";
import { orphansOfEntity } from "../receipts/orphans-made.ts";
import { OrphansNotice } from "../receipts/orphans-notice.tsx";
import { isCleaningUp, type KnownRevocation, readRevocation } from "../receipts/read-revocation.ts";
import { RevocationReceipt } from "../receipts/revocation-receipt.tsx";
import { type Answer, done } from "../result.ts";
import { mayDo, useSession } from "../session.ts";
import { Card, Notice, useLoad, usePolling } from "../ui/index.ts";

const POLL_MS = 2_000;

/** The last end of an entity's tokens; null without one, or when its watermark has expired. */
async function readEnd(
  api: Api,
  id: string,
  isNew: boolean,
  readsEvents: boolean,
): Promise<Answer<KnownRevocation | null>> {
  if (!isNew) {
    // The list of all revocations is long, so it is read only when this entity has a watermark.
    const path = `identity/entity/id/${pathOf(id)}/not-before`;
    const before = await api.read<{ readonly not_before: string | null }>(path);
    if (!before.ok || before.value.not_before === null) return done(null);
  }
  return readRevocation(api, ({ entity_id: entity }) => entity === id, readsEvents);
}

interface EndedTokensProps {
  readonly entity: Pick<Entity, "id" | "disabled">;
  /** The counts before; null when the tokens were not ended on this page. */
  readonly end: CountedBefore | null;
}

/**
 * The receipt of the last end of an entity's tokens, as long as the server has it: who asked and when, the progress of
 * the clean-up, how many tokens ended and what their trees answer, and whether the entity can log in again.
 */
export function EndedTokens({ entity: { id, disabled }, end }: EndedTokensProps) {
  const session = useSession();
  const isAsked = end !== null || mayDo(session, ASKED_PATHS.revocations, "read", "sudo");
  const readsEvents = mayDo(session, ASKED_PATHS.audit, "read", "sudo");
  const receipt = useLoad(`${id} ${end !== null}`, async () =>
    isAsked ? readEnd(session.api, id, end !== null, readsEvents) : done(null),
  );
  const own = receipt.value;
  // After what was done on this page, its proof comes into view: it stands below the form.
  const place = useRef<HTMLDivElement>(null);
  const isShown = end !== null && own !== null;
  useEffect(() => {
    if (isShown) place.current?.scrollIntoView({ block: "start" });
  }, [isShown]);
  usePolling(own !== null && isCleaningUp(own), receipt.reload, POLL_MS);
  if (end === null && own === null) return null;
  return (
    <div ref={place}>
      <Card
        of={receipt}
        title="Its tokens have ended"
        beside={own && own.request_id !== "" && <ExportRevocation own={own} />}
      >
        {(own !== null || !receipt.busy) && (
          <div class="body">
            {disabled ? (
              <Notice tone="good" title="It is disabled: it can't log in again" />
            ) : (
              <Notice tone="warn" title="It can log in again">
                To keep it out, mark it as disabled above.
              </Notice>
            )}
          </div>
        )}
        {own && <RevocationReceipt key={own.request_id} own={own} before={end} label="Tokens of the entity" />}
        {own && (
          <div class="body">
            <OrphansNotice
              of={id}
              ask={() => orphansOfEntity(session.api, id)}
              action={(accessors) => <EndOrphans accessors={accessors} />}
            />
          </div>
        )}
      </Card>
    </div>
  );
}
