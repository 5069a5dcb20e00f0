import { useEffect, useState } from "preact/hooks";
import type { Entity, WatermarkRevocations } from "../../client/answers.d.ts";
import { RequestLink } from "../audit/links.tsx";
import { counted } from "../format.ts";
import { href, pathOf } from "../href.ts";
import { needsOf } from "../needs.ts";
import { LeasesNotice } from "../receipts/leases-notice.tsx";
import { checkAccessors } from "../receipts/read.ts";
import { ConfirmButton } from "../records/confirm.tsx";
import { done, type Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { noteRevocation } from "../tokens/going.ts";
import { AskedBy } from "../tokens/links.tsx";
import { amountText, MOST_NAMED } from "../tokens/model.ts";
import type { Preview } from "../tokens/numbers.ts";
import { PreviewFacts } from "../tokens/revoke-dialog.tsx";
import { previewRevocation, readTokens } from "../tokens/token.ts";
import { Card, Facts, Notice, Time, useLoad, usePolling } from "../ui/index.ts";

/** What was counted before all tokens of an entity were ended. */
export interface EndOfTokens {
  /** null where the token may not count them. */
  readonly preview: Preview | null;
  /** The first `MOST_NAMED` of its own tokens, for the check. */
  readonly accessors: readonly string[];
}

const NOTHING: EndOfTokens = { preview: null, accessors: [] };

interface EndTokensProps {
  readonly entity: Entity;
  readonly onEnded: (end: EndOfTokens) => void;
}

/** Ends all tokens of an entity, after their numbers were shown. */
export function EndTokens({ entity: { id, name, disabled }, onEnded }: EndTokensProps) {
  const { api, self } = useSession();
  const [counted, setCounted] = useState<EndOfTokens>(NOTHING);
  const [disables, setDisables] = useState(false);
  const entity = `identity/entity/id/${pathOf(id)}`;
  const path = `${entity}/not-before`;
  const send = async () => {
    // First: a disabled entity has no token that is accepted, and gets none, whatever becomes of the second request.
    const before = disables ? await api.call(entity, { body: { disabled: true } }) : done(null);
    if (!before.ok) return before;
    const answer = await api.call(path, { body: { not_before: "now" } });
    // They are refused from now on. A tidy run takes them off the map.
    if (answer.ok) await api.call("auth/token/tidy", { body: {} });
    return answer;
  };
  return (
    <ConfirmButton
      label="End its tokens…"
      needs={needsOf(path)}
      title={`End the tokens of ${name}`}
      typing={name}
      action="End them"
      send={send}
      onDone={() => {
        noteRevocation({ entity_id: id });
        onEnded(counted);
      }}
    >
      <Numbers id={id} onCounted={setCounted} />
      <p>
        All tokens that it got until now are refused, with everything below them.{" "}
        {disabled ? "It is disabled: it can't log in again." : "It can log in again, unless it is disabled."}
      </p>
      {/* An entity that disables itself is refused: it could not end its tokens then. */}
      {!disabled && self.entity_id !== id && (
        <label class="check">
          <input
            type="checkbox"
            checked={disables}
            onChange={({ currentTarget }) => setDisables(currentTarget.checked)}
          />
          <span>Disable the entity too, so that it can't log in</span>
        </label>
      )}
    </ConfirmButton>
  );
}

function Numbers({ id, onCounted }: { readonly id: string; readonly onCounted: (counted: EndOfTokens) => void }) {
  const { api } = useSession();
  const [preview, setPreview] = useState<Preview | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    let waits = true;
    const count = async (): Promise<void> => {
      const selection = { entity_id: id, include_root: true, include_self: true };
      const answer = await previewRevocation(api, selection, () => waits);
      const own = await readTokens(api, { entity_id: id }, MOST_NAMED);
      if (!waits) return;
      if (!answer.ok) return setProblem(answer.problem);
      setPreview(answer.value);
      onCounted({ preview: answer.value, accessors: own.ok ? own.value.tokens.map(({ accessor }) => accessor) : [] });
    };
    count();
    return () => {
      waits = false;
    };
  }, [api, id]);
  if (problem)
    return (
      <Notice tone="warn" title="What would end can't be counted">
        {problem.messages.join(" ")}
      </Notice>
    );
  if (!preview) return <p class="muted">Counting what would end…</p>;
  return (
    <>
      <PreviewFacts preview={preview} />
      <p class="small muted">Batch tokens end too. No list has them, so they are not counted.</p>
    </>
  );
}

const POLL_MS = 2_000;

type Revocation = WatermarkRevocations["revocations"][number];

interface EndedTokensProps {
  readonly entity: Pick<Entity, "id" | "disabled">;
  readonly end: EndOfTokens;
}

/**
 * The receipt of the end of an entity's tokens: whether it can log in again, who asked and when, how far the clean-up
 * is, and what the trees say.
 */
export function EndedTokens({ entity: { id, disabled }, end: { preview, accessors } }: EndedTokensProps) {
  const { api } = useSession();
  const receipt = useLoad(id, async () => {
    const [revocations, check] = await Promise.all([
      api.read<WatermarkRevocations>("sys/leases/revocations"),
      accessors.length > 0 ? checkAccessors(api, accessors) : done(null),
    ]);
    if (!revocations.ok) return revocations;
    if (!check.ok) return check;
    const own = revocations.value.revocations.find(({ entity_id: entity }) => entity === id) ?? null;
    return done({ own, check: check.value });
  });
  const { own = null, check = null } = receipt.value ?? {};
  usePolling(own !== null && (own.tokens_left ?? 0) > 0, receipt.reload, POLL_MS);
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

function Receipt({
  own,
  preview,
  id,
}: {
  readonly own: Revocation;
  readonly preview: Preview | null;
  readonly id: string;
}) {
  const { asked_by: by, request_id: request, time, tokens_left: left } = own;
  return (
    <Facts
      live
      rows={{
        "Asked by": <AskedBy by={by} />,
        Request: request !== "" && <RequestLink id={request} />,
        When: <Time at={time} both />,
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
