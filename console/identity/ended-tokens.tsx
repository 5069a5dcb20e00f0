import { useEffect, useRef, useState } from "preact/hooks";
import type { EndedCheck, Entity, WatermarkRevocations } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { RequestLink } from "../audit/links.tsx";
import { readEvents } from "../audit/read-events.ts";
import { counted } from "../format.ts";
import { href, pathOf } from "../href.ts";
import { CheckAgain } from "../receipts/check-again.tsx";
import { EndOrphans } from "../receipts/end-orphans.tsx";
import { ExportButton } from "../receipts/export-button.tsx";
import { orphansOfEntity } from "../receipts/orphans-made.ts";
import { OrphansNotice } from "../receipts/orphans-notice.tsx";
import { checkAccessors, verifyRequest } from "../receipts/read-receipt.ts";
import { useAllPages } from "../receipts/use-all-pages.ts";
import { wholeEnded } from "../receipts/whole-receipt.ts";
import { type Answer, done } from "../result.ts";
import { mayDo, useSession } from "../session.ts";
import { amountText } from "../tokens/amount.ts";
import { AskedBy } from "../tokens/links.tsx";
import { MOST_NAMED } from "../tokens/selection.ts";
import { listEnded } from "../tokens/token-api.ts";
import { Card, downloadJson, Facts, Notice, ProblemNotice, Time, useLoad, usePolling } from "../ui/index.ts";
import type { EndOfTokens } from "./end-tokens.tsx";
import { endedText, isCutOff } from "./ended-text.ts";

const POLL_MS = 2_000;

type Revocation = WatermarkRevocations["revocations"][number];

/** The last request that ended the tokens of an entity. */
interface KnownEnd extends Revocation {
  /** The time of the answer in its event. null: the event can't be read. */
  readonly answered: string | null;
}

/** The last end of an entity's tokens; null without one, or when its watermark has expired. */
async function readEnd(api: Api, id: string, isNew: boolean, readsEvents: boolean): Promise<Answer<KnownEnd | null>> {
  if (!isNew) {
    // The list of all revocations is long, so it is read only when this entity has a watermark.
    const path = `identity/entity/id/${pathOf(id)}/not-before`;
    const before = await api.read<{ readonly not_before: string | null }>(path);
    if (!before.ok || before.value.not_before === null) return done(null);
  }
  const revocations = await api.read<WatermarkRevocations>(ASKED_PATHS.revocations);
  if (!revocations.ok) return revocations;
  const own = revocations.value.revocations.find(({ entity_id: entity }) => entity === id);
  if (!own) return done(null);
  const isKnown = readsEvents && own.request_id !== "";
  // The time of the event, so that the receipt and the timeline below show the same time.
  const event = isKnown ? await readEvents(api, { request_id: own.request_id, limit: 1 }) : null;
  const answered = event?.ok ? (event.value.events[0]?.time ?? null) : null;
  return done({ ...own, answered });
}

interface EndedTokensProps {
  readonly entity: Pick<Entity, "id" | "disabled">;
  /** The counts before; null when the tokens were not ended on this page. */
  readonly end: EndOfTokens | null;
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
  usePolling((own?.tokens_left ?? 0) > 0, receipt.reload, POLL_MS);
  if (end === null && own === null) return null;
  return (
    <div ref={place}>
      <Card
        of={receipt}
        title="Its tokens have ended"
        beside={own && own.request_id !== "" && <ExportEnd end={own} id={id} />}
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
        {own && <Receipt key={own.request_id} own={own} end={end} />}
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

interface ReceiptProps {
  readonly own: KnownEnd;
  readonly end: EndOfTokens | null;
}

function Receipt({ own, end }: ReceiptProps) {
  const { api } = useSession();
  const [check, setCheck] = useState<EndedCheck | null>(null);
  const { asked_by: by, request_id: request, time, created_before: before, tokens_left: left, answered } = own;
  const preview = end?.preview ?? null;
  const goesOn = (left ?? 0) > 0;
  const accessors = end?.accessors ?? [];
  // Tidy records ended tokens as it removes them from the map. Until then this page uses its own count.
  const isCounted = goesOn && accessors.length > 0;
  return (
    <>
      <Facts
        body
        live
        rows={{
          "Asked by": <AskedBy by={by} />,
          Request: request !== "" && <RequestLink id={request} />,
          When: <Time at={answered ?? time} both />,
          "Refuses tokens issued before": before !== null && isCutOff(before, time) && <Time at={before} both />,
          "Tokens of the entity": preview && counted(preview.count, "token"),
          "Ended in all": endedText(isCounted ? null : check, preview, goesOn),
          "Leases that they had": preview && amountText(preview.leases),
          "Clean-up": goesOn
            ? `${counted(left ?? 0, "token")} still on the map, until tidy has taken them off`
            : "the map has none of them",
          Tokens: request !== "" && (
            <a href={href(["ended"], { request_id: request })}>{goesOn ? "those recorded so far" : "all that ended"}</a>
          ),
        }}
      />
      {request !== "" && (
        <CheckAgain
          // Rendered anew when tidy has recorded more, which is checked too.
          key={`${isCounted} ${goesOn} ${own.clean_up}`}
          total={isCounted ? accessors.length : goesOn ? 0 : (preview?.total ?? 0)}
          isLeast={!isCounted && (goesOn || preview === null)}
          leases={preview?.leases ?? { count: 0, more: false }}
          ask={(after) => (isCounted ? checkAccessors(api, accessors) : verifyRequest(api, request, after))}
          onChecked={setCheck}
          first="once"
        />
      )}
    </>
  );
}

/** Exports who asked, and the accessors of all ended tokens, to a file. */
function ExportEnd({ end, id }: { readonly end: KnownEnd; readonly id: string }) {
  const { api } = useSession();
  const { request_id: request, asked_by: by, time, answered, created_before: before } = end;
  const file = useAllPages(
    (progress) => wholeEnded((after) => listEnded(api, { request_id: request, after, limit: MOST_NAMED }), progress),
    ({ tokens, next }) => {
      const accessors = tokens.map(({ token }) => token.accessor);
      const whole = {
        entity_id: id,
        request_id: request,
        asked_by: by,
        time: answered ?? time,
        created_before: before,
      };
      downloadJson(`ended-${request}.json`, { ...whole, numbers: { total: accessors.length }, accessors, next });
    },
  );
  return (
    <>
      {file.problem && <ProblemNotice problem={file.problem} />}
      <ExportButton walk={file} />
    </>
  );
}
