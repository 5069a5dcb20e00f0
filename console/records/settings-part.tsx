import { useState } from "preact/hooks";
import { needsOf } from "../needs.ts";
import { useSession } from "../session.ts";
import { AllowedButton } from "../ui/allowed.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { useLoad } from "../ui/use-load.ts";
import { ActionButton } from "./action-button.tsx";
import { recordOf } from "./commands.ts";
import { Confirm } from "./confirm.tsx";
import type { RecordValue } from "./field.ts";
import type { Settings } from "./part.ts";
import { RecordForm } from "./record-form.tsx";
import type { Scope } from "./scope.ts";

/** Settings, to look at and change. */
export function SettingsPart({ scope, part }: { readonly scope: Scope; readonly part: Settings }) {
  const { api } = useSession();
  const [asking, setAsking] = useState(false);
  const path = scope.endpoint(part.path);
  const settings = useLoad(path, () => api.read<RecordValue | null>(path));
  const missing = settings.problem?.status === 404;
  // What was deleted is not shown any more.
  const value = missing ? null : settings.value;
  return (
    <section class="card" aria-labelledby="settings">
      <header>
        <h2 id="settings">{part.title}</h2>
        <div class="row">
          {part.action && value && (
            <ActionButton path={scope.endpoint(part.action.path)} action={part.action} onDone={settings.reload} />
          )}
          {part.loss !== undefined && value && (
            <AllowedButton look="button slim danger" needs={needsOf(path, "DELETE")} onClick={() => setAsking(true)}>
              Delete…
            </AllowedButton>
          )}
        </div>
      </header>
      <div class="body stack">
        {settings.problem && !missing && <ProblemNotice problem={settings.problem} onRetry={settings.reload} />}
        {missing && <p class="muted">Nothing is set yet.</p>}
        {(value || missing) && (
          <RecordForm
            groups={part.groups}
            record={value}
            action="Save"
            request={(body) => ({ path, body })}
            terraform={part.terraform && recordOf(part.terraform, scope.mount)}
            onSaved={settings.reload}
          />
        )}
      </div>
      {asking && (
        <Confirm
          title={`Delete: ${part.title.toLowerCase()}`}
          typing={scope.name}
          action="Delete"
          send={() => api.call(path, { method: "DELETE" })}
          onDone={() => {
            setAsking(false);
            settings.reload();
          }}
          onClose={() => setAsking(false)}
        >
          <p>{part.loss}</p>
        </Confirm>
      )}
    </section>
  );
}
