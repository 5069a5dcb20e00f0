import { useState } from "preact/hooks";
import type { KeyStatus } from "../../client/answers.d.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { count } from "../format.ts";
import { needsOf } from "../needed-capabilities.ts";
import type { FieldGroup, RecordValue } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { AllowedButton, Card, Facts, ProblemNotice, SendProblem, Time, useLoad } from "../ui/index.ts";

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

/** The keys that seal stored values: the current term, and when the next one begins. */
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
    <Card
      of={keys}
      body
      title="Keys"
      beside={
        <AllowedButton look="button slim" needs={needsOf(ASKED_PATHS.rotate)} onClick={rotate}>
          Begin a new term
        </AllowedButton>
      }
    >
      {keys.value && (
        <Facts
          rows={{
            Term: keys.value.term,
            Since: <Time at={keys.value.install_time} both />,
            Uses: count(keys.value.encryptions),
          }}
        />
      )}
      <SendProblem problem={problem} />
      <details class="fold">
        <summary>When the next term begins</summary>
        <Rotation />
      </details>
    </Card>
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
