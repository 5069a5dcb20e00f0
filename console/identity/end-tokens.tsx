import { useEffect, useState } from "preact/hooks";
import type { Entity } from "../../client/answers.d.ts";
import { entityName } from "../entity-names.ts";
import { pathOf } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { orphansOfEntity } from "../receipts/orphans-made.ts";
import { ENDED_LATER, OrphansNotice } from "../receipts/orphans-notice.tsx";
import { ConfirmButton } from "../records/confirm.tsx";
import { done, type Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { noteRevocation } from "../tokens/recent-revocations.ts";
import type { Preview } from "../tokens/revocation-preview.ts";
import { PreviewFacts } from "../tokens/revoke-dialog.tsx";
import { MOST_NAMED } from "../tokens/selection.ts";
import { previewRevocation, readTokens } from "../tokens/token-api.ts";
import { Notice } from "../ui/index.ts";

/** The counts before all tokens of an entity were ended. */
export interface EndOfTokens {
  /** null when the token may not count them. */
  readonly preview: Preview | null;
  /** The first `MOST_NAMED` accessors, for the check afterwards. */
  readonly accessors: readonly string[];
}

const NOTHING: EndOfTokens = { preview: null, accessors: [] };

interface EndTokensProps {
  readonly entity: Entity;
  readonly onEnded: (end: EndOfTokens) => void;
}

/** Ends all tokens of an entity, after showing how many they are. */
export function EndTokens({ entity: record, onEnded }: EndTokensProps) {
  const { id, disabled } = record;
  // The name that the page and the list show: a generated one is not for typing.
  const name = entityName(record);
  const { api, self } = useSession();
  const [counted, setCounted] = useState<EndOfTokens>(NOTHING);
  const [disables, setDisables] = useState(false);
  const [step, setStep] = useState("");
  const entity = `identity/entity/id/${pathOf(id)}`;
  const path = `${entity}/not-before`;
  const send = async () => {
    // First: a disabled entity's tokens are refused and it gets no new ones, even if the second request fails.
    if (disables) setStep("1 of 2: disabling the entity, until every part of the service refuses it");
    const before = disables ? await api.call(entity, { body: { disabled: true } }) : done(null);
    if (!before.ok) return before;
    const ending = "Ending the tokens: the answer comes when every part of the service refuses them";
    setStep(disables ? `2 of 2: ${ending}` : ending);
    const answer = await api.call(path, { body: { not_before: "now" } });
    // The tokens are refused from now on. A tidy run removes them from the map.
    if (answer.ok) {
      setStep("They are refused. Beginning the clean-up of the map");
      await api.call("auth/token/tidy", { body: {} });
    }
    return answer;
  };
  return (
    <ConfirmButton
      label="End its tokens…"
      needs={needsOf(path)}
      title={`End the tokens of ${name}`}
      typing={name}
      action="End them"
      working={step}
      send={send}
      onDone={() => {
        noteRevocation({ entity_id: id });
        onEnded(counted);
      }}
    >
      <Numbers id={id} onCounted={setCounted} />
      <OrphansNotice of={id} ask={() => orphansOfEntity(api, id)} action={ENDED_LATER} />
      <p>
        All tokens that it got until now are refused, with everything below them.{" "}
        {disabled ? "It is disabled: it can't log in again." : "It can log in again, unless it is disabled."}
      </p>
      {/* An entity that disables itself could not end its tokens afterwards. */}
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

interface NumbersProps {
  readonly id: string;
  readonly onCounted: (counted: EndOfTokens) => void;
}

function Numbers({ id, onCounted }: NumbersProps) {
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
