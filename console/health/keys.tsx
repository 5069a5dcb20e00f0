import { useState } from "preact/hooks";
import { count } from "../format.ts";
import { needsOf } from "../needs.ts";
import type { FieldGroup, RecordValue } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import type { Problem } from "../result.ts";
import { ASKED_PATHS, useSession } from "../session.ts";
import { AllowedButton } from "../ui/allowed.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../ui/use-load.ts";
import { LoadedPart } from "./loaded-part.tsx";

interface KeyStatus {
  readonly term: number;
  readonly install_time: string;
  readonly encryptions: number;
}

const ROTATION: readonly FieldGroup[] = [
  {
    title: "A new term by itself",
    fields: [
      { name: "enabled", label: "Enabled", kind: "flag" },
      { name: "max_operations", label: "After so many uses", kind: "number" },
      { name: "interval", label: "After so long", kind: "duration", hint: "Empty: whatever its age." },
    ],
  },
];

/** The keys under which values are sealed: which term is used, and when the next one begins. */
export function Keys() {
  const { api } = useSession();
  const keys = useLoad("keys", () => api.read<KeyStatus>("sys/key-status"));
  const [problem, setProblem] = useState<Problem | null>(null);
  const rotate = async (): Promise<void> => {
    const answer = await api.call("sys/rotate", { body: {} });
    setProblem(answer.ok ? null : answer.problem);
    if (answer.ok) keys.reload();
  };
  return (
    <section class="card" aria-labelledby="health-keys">
      <header>
        <h2 id="health-keys">Keys</h2>
        <AllowedButton look="button slim" needs={needsOf(ASKED_PATHS.rotate)} onClick={rotate}>
          Begin a new term
        </AllowedButton>
      </header>
      <LoadedPart loaded={keys}>
        {keys.value && (
          <dl class="facts">
            <dt>Term</dt>
            <dd>{keys.value.term}</dd>
            <dt>Since</dt>
            <dd>
              <Time at={keys.value.install_time} both />
            </dd>
            <dt>Uses</dt>
            <dd>{count(keys.value.encryptions)}</dd>
          </dl>
        )}
        {problem && <ProblemNotice problem={problem} />}
        <details class="fold">
          <summary>When the next term begins</summary>
          <Rotation />
        </details>
      </LoadedPart>
    </section>
  );
}

function Rotation() {
  const { api } = useSession();
  const settings = useLoad("rotation", () => api.read<RecordValue>("sys/rotate/config"));
  return (
    <>
      {settings.problem && <ProblemNotice problem={settings.problem} onRetry={settings.reload} />}
      {settings.value && (
        <RecordForm
          groups={ROTATION}
          record={settings.value}
          action="Save"
          request={(body) => ({ path: "sys/rotate/config", body })}
          onSaved={settings.reload}
        />
      )}
    </>
  );
}
