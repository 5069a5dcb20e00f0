import type { EndedCheck, Entity, WatermarkRevocations } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { RequestLink } from "../audit/links.tsx";
import { counted } from "../format.ts";
import { href, pathOf } from "../href.ts";
import { LeasesNotice } from "../receipts/leases-notice.tsx";
import { checkAccessors } from "../receipts/read.ts";
import { type Answer, done } from "../result.ts";
import { ASKED_PATHS, mayDo, useSession } from "../session.ts";
import { AskedBy } from "../tokens/links.tsx";
import { amountText } from "../tokens/model.ts";
import type { Preview } from "../tokens/numbers.ts";
import { Card, Facts, Notice, Time, useLoad, usePolling } from "../ui/index.ts";
import type { EndOfTokens } from "./end-tokens.tsx";

const POLL_MS = 2_000;

type Revocation = WatermarkRevocations["revocations"][number];

/** What the server knows of the end of an entity's tokens. */
interface KnownEnd {
  /** The last request that ended them; null when there was none, or its watermark is not kept any more. */
  readonly own: Revocation | null;
  /** What the trees say of the tokens that were counted; null without any. */
  readonly check: EndedCheck | null;
}

async function readEnd(api: Api, id: string, end: EndOfTokens | null): Promise<Answer<KnownEnd>> {
  if (end === null) {
    // The list of all revocations is long: it is read where there is one of this entity.
    const path = `identity/entity/id/${pathOf(id)}/not-before`;
    const before = await api.read<{ readonly not_before: string | null }>(path);
    if (!before.ok || before.value.not_before === null) return done({ own: null, check: null });
  }
  const accessors = end?.accessors ?? [];
  const [revocations, check] = await Promise.all([
    api.read<WatermarkRevocations>(ASKED_PATHS.revocations),
    accessors.length > 0 ? checkAccessors(api, accessors) : done(null),
  ]);
  if (!revocations.ok) return revocations;
  if (!check.ok) return check;
  const own = revocations.value.revocations.find(({ entity_id: entity }) => entity === id) ?? null;
  return done({ own, check: check.value });
}

interface EndedTokensProps {
  readonly entity: Pick<Entity, "id" | "disabled">;
  /** What was counted before; null when this page has not ended them. */
  readonly end: EndOfTokens | null;
}

/**
 * The receipt of the last end of an entity's tokens, as long as the server knows it: who asked and when, how far the
 * clean-up is, whether it can log in again; and what the trees say, where this page has ended them.
 */
export function EndedTokens({ entity: { id, disabled }, end }: EndedTokensProps) {
  const session = useSession();
  const isAsked = end !== null || mayDo(session, ASKED_PATHS.revocations, "read", "sudo");
  const receipt = useLoad(`${id} ${end !== null}`, async () =>
    isAsked ? readEnd(session.api, id, end) : done({ own: null, check: null }),
  );
  const { own = null, check = null } = receipt.value ?? {};
  usePolling(own !== null && (own.tokens_left ?? 0) > 0, receipt.reload, POLL_MS);
  if (end === null && own === null) return null;
  const preview = end?.preview ?? null;
  return (
    <Card of={receipt} title="Its tokens have ended" body>
      {receipt.value && !disabled && (
        <Notice tone="warn" title="It can log in again">
          To keep it out, mark it as disabled above.
        </Notice>
      )}
      {receipt.value && disabled && <Notice tone="good" title="It is disabled: it can't log in again" />}
      {own && <Receipt own={own} preview={preview} id={id} />}
      {check &&
        (check.alive.length > 0 ? (
          <Notice tone="bad" title={`${counted(check.alive.length, "token")} of ${check.checked} can be used`} />
        ) : (
          <Notice
            tone="good"
            title={`All of these are refused: ${check.ended} of ${check.checked}, by what their trees say`}
          />
        ))}
      {check && preview && (
        <LeasesNotice asked={preview.leases} unrevoked={check.unrevoked_leases} onTried={receipt.reload} />
      )}
    </Card>
  );
}

interface ReceiptProps {
  readonly own: Revocation;
  readonly preview: Preview | null;
  readonly id: string;
}

function Receipt({ own, preview, id }: ReceiptProps) {
  const { asked_by: by, request_id: request, time, created_before: before, tokens_left: left } = own;
  return (
    <Facts
      live
      rows={{
        "Asked by": <AskedBy by={by} />,
        Request: request !== "" && <RequestLink id={request} />,
        When: <Time at={time} both />,
        "Refused are tokens from before": before !== null && <Time at={before} both />,
        "Tokens of the entity": preview && counted(preview.count, "token"),
        "Ended in all": preview && counted(preview.total, "token"),
        "Leases asked to end": preview && amountText(preview.leases),
        "Clean-up": left
          ? `${counted(left, "token")} still on the map, until tidy has taken them off`
          : "the map has none of them",
        Tokens: <a href={href(["tokens"], { entity_id: id })}>those that it has now</a>,
      }}
    />
  );
}
