import { useSession } from "../session.ts";
import { Card, ProblemNotice, useLoad, Warnings } from "../ui/index.ts";
import { ActionButton, DeleteButton } from "./confirm.tsx";
import type { RecordValue } from "./field.ts";
import { type Scope, type Settings, wholeBody } from "./part.ts";
import { RecordForm } from "./record-form.tsx";
import { recordOf } from "./request-commands.ts";

/** A card with settings that can be changed. */
export function SettingsPart({ scope, part }: { readonly scope: Scope; readonly part: Settings }) {
  const { api } = useSession();
  const path = scope.endpoint(part.path);
  const settings = useLoad(path, () => api.call<RecordValue | null>(path));
  const missing = settings.problem?.status === 404;
  // After a deletion `settings` still has the last value.
  const value = missing ? null : (settings.value?.data ?? null);
  return (
    <Card
      title={part.title}
      beside={
        <div class="row">
          {part.action && value && (
            <ActionButton path={scope.endpoint(part.action.path)} action={part.action} onDone={settings.reload} />
          )}
          {part.loss !== undefined && value && (
            <DeleteButton
              path={path}
              name={scope.name}
              title={`Delete: ${part.title.toLowerCase()}`}
              onDone={settings.reload}
            >
              <p>{part.loss}</p>
            </DeleteButton>
          )}
        </div>
      }
      body
    >
      {settings.problem && !missing && <ProblemNotice problem={settings.problem} onRetry={settings.reload} />}
      {missing && <p class="muted">Nothing is set yet.</p>}
      {value && <Warnings of={settings.value} />}
      {(value || missing) && (
        <RecordForm
          groups={part.groups}
          record={value}
          action="Save"
          request={(changed) => ({ path, body: wholeBody(part, value, changed) })}
          terraform={part.terraform && recordOf(part.terraform, scope.mount)}
          onSaved={settings.reload}
        />
      )}
    </Card>
  );
}
