import { useEffect, useRef, useState } from "preact/hooks";
import { pathOf } from "../api.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { Notice, ProblemNotice } from "../ui/notice.tsx";
import { useDraft } from "../ui/use-draft.ts";
import { offsetOf, type Place, placeIn } from "./place.ts";

/** Where a policy is in the API. */
export const endpointOf = (name: string): string => `sys/policies/acl/${pathOf(...name.split("/"))}`;

interface EditorProps {
  readonly name: string;
  readonly text: string;
  readonly isFixed?: boolean;
  readonly isNew?: boolean;
  readonly onTyped: (text: string) => void;
  readonly onSaved: () => void;
}

/** The text with its line numbers; a mistake that the parser names is marked and the cursor put there. */
export function Editor({ name, text, isFixed = false, isNew = false, onTyped, onSaved }: EditorProps) {
  const { api } = useSession();
  const [typed, change] = useDraft(text);
  const type = (next: string): void => {
    change(() => next);
    onTyped(next);
  };
  const [problem, setProblem] = useState<Problem | null>(null);
  const [saved, setSaved] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLDivElement>(null);
  const place: Place | null = problem ? placeIn(problem.messages.join("\n")) : null;

  useEffect(() => {
    const element = area.current;
    if (!element || !place) return;
    const at = offsetOf(typed, place);
    element.focus();
    element.setSelectionRange(at, Math.min(typed.length, at + 1));
  }, [problem]);

  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    setSaved(false);
    const answer = await api.call(endpointOf(name), { body: { policy: typed } });
    setProblem(answer.ok ? null : answer.problem);
    setSaved(answer.ok);
    if (answer.ok) onSaved();
  };
  const lines = typed.split("\n").length;
  const changed = typed !== text || isNew;
  return (
    <form class="stack tight" onSubmit={save}>
      <div class="editor">
        <div class="editor-lines number" ref={numbers} aria-hidden="true">
          {Array.from({ length: lines }, (_, at) => (
            <span key={at} class={place?.line === at + 1 ? "wrong" : undefined}>
              {at + 1}
            </span>
          ))}
        </div>
        <textarea
          ref={area}
          aria-label={`Text of the policy ${name}`}
          aria-invalid={place ? "true" : undefined}
          value={typed}
          readOnly={isFixed}
          spellcheck={false}
          rows={Math.min(30, Math.max(14, lines + 1))}
          wrap="off"
          onInput={(event) => {
            type(event.currentTarget.value);
            setSaved(false);
          }}
          onScroll={(event) => {
            if (numbers.current) numbers.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      {problem && place && (
        <Notice tone="bad" title={`Line ${place.line}, column ${place.column}`}>
          {problem.messages.map((message) => (
            <p key={message}>{message}</p>
          ))}
        </Notice>
      )}
      {problem && !place && <ProblemNotice problem={problem} />}
      {saved && (
        <Notice tone="good" title="Saved">
          It holds everywhere within seconds.
        </Notice>
      )}
      {!isFixed && (
        <div class="actions">
          {typed !== text && (
            <button type="button" class="button" onClick={() => type(text)}>
              Undo the changes
            </button>
          )}
          <button type="submit" class="button primary" disabled={!changed || name === ""}>
            Save
          </button>
        </div>
      )}
    </form>
  );
}
