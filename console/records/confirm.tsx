import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Answer, Problem } from "../result.ts";
import { Dialog, Field } from "../ui/controls.tsx";
import { ProblemNotice } from "../ui/notice.tsx";

interface ConfirmProps {
  readonly title: string;
  /** The text that has to be typed; "" where a click is enough, because nothing is lost for good. */
  readonly typing: string;
  /** The word on the button. */
  readonly action: string;
  readonly send: () => Promise<Answer<unknown>>;
  readonly onDone: () => void;
  readonly onClose: () => void;
  /** What it takes away. */
  readonly children: ComponentChildren;
}

/** Asks before something is taken away. */
export function Confirm({ title, typing, action, send, onDone, onClose, children }: ConfirmProps) {
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (typed !== typing || busy) return;
    setBusy(true);
    const answer = await send();
    setBusy(false);
    if (answer.ok) onDone();
    else setProblem(answer.problem);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <div class="stack tight break">{children}</div>
        {typing !== "" && (
          <Field label={`Type ${typing} to confirm`}>
            <input
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
              autocomplete="off"
              spellcheck={false}
              autofocus
            />
          </Field>
        )}
        {problem && <ProblemNotice problem={problem} />}
        <div class="actions">
          <button type="button" class="button" onClick={onClose}>
            Keep it
          </button>
          <button type="submit" class="button danger solid" aria-disabled={busy} disabled={typed !== typing}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
