import { useState } from "preact/hooks";
import type { Entity } from "../../client/answers.d.ts";
import { entityName } from "../entity-names.ts";
import { pathOf } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import type { CountedBefore } from "../receipts/counted-before.ts";
import { orphansOfEntity } from "../receipts/orphans-made.ts";
import { ENDED_LATER, OrphansNotice } from "../receipts/orphans-notice.tsx";
import { useCountedBefore } from "../receipts/use-counted-before.ts";
import { ConfirmButton } from "../records/confirm.tsx";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { EndingNumbers } from "../tokens/ending-numbers.tsx";
import { noteRevocation } from "../tokens/recent-revocations.ts";

interface EndTokensProps {
  readonly entity: Entity;
  readonly onEnded: (end: CountedBefore) => void;
}

/** Ends all tokens of an entity, after showing how many they are. */
export function EndTokens({ entity: record, onEnded }: EndTokensProps) {
  const { id, disabled } = record;
  // The name that the page and the list show: a generated one is not for typing.
  const name = entityName(record);
  const { api, self } = useSession();
  const [counted, noteCounted] = useCountedBefore({ entity_id: id });
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
      <EndingNumbers selection={{ entity_id: id }} onCounted={noteCounted} />
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
