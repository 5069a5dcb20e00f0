import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Needs, needsOf } from "../needed-capabilities.ts";
import type { Answer, Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { AllowedButton, Dialog, Field, SendProblem, TextInput, useTried, Working } from "../ui/index.ts";
import type { Action } from "./part.ts";
import { typedMistake } from "./typed-confirmation.ts";

interface ConfirmProps<T> {
  readonly title: string;
  /** The text that the user must type; "" when a click is enough, because nothing is lost for good. */
  readonly typing: string;
  /** The label of the button. */
  readonly action: string;
  /** A text about the running action; absent when the answer comes at once. */
  readonly working?: string | undefined;
  readonly send: () => Promise<Answer<T>>;
  /** Called with the answer. */
  readonly onDone: (value: T) => void;
  readonly onClose: () => void;
  /** The consequences. */
  readonly children: ComponentChildren;
}

/** A dialog that asks before something is lost. */
export function Confirm<T>({ title, typing, action, working, send, onDone, onClose, children }: ConfirmProps<T>) {
  const [typed, setTyped] = useState("");
  const [tried, attempt] = useTried();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const wrong = typedMistake(typing, typed);
  const submit = async (event: Event): Promise<void> => {
    if (!attempt(event, wrong === "") || busy) return;
    setBusy(true);
    setProblem(null);
    const answer = await send();
    setBusy(false);
    if (answer.ok) onDone(answer.value);
    else setProblem(answer.problem);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={submit} noValidate>
        <div class="stack tight break">{children}</div>
        {typing !== "" && (
          <Field label={`Type ${typing} to confirm`} wrong={tried ? wrong : ""}>
            <TextInput value={typed} onText={setTyped} autofocus />
          </Field>
        )}
        {busy && <Working text={working} />}
        <SendProblem problem={problem} />
        <div class="actions">
          <button type="button" class="button" onClick={onClose}>
            {busy ? "Close" : "Keep it"}
          </button>
          <button type="submit" class="button danger solid" aria-disabled={busy}>
            {busy ? "Working…" : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface ConfirmButtonProps<T> extends Omit<ConfirmProps<T>, "onClose"> {
  /** Classes of the button. */
  readonly look?: string;
  readonly label: ComponentChildren;
  readonly needs: Needs;
  readonly idle?: string;
}

/** A button that opens the dialog before it acts. */
export function ConfirmButton<T>(props: ConfirmButtonProps<T>) {
  const { look = "button slim danger", label, needs, idle, onDone, ...dialog } = props;
  const [asking, setAsking] = useState(false);
  const close = (): void => setAsking(false);
  return (
    <>
      <AllowedButton look={look} needs={needs} idle={idle} onClick={() => setAsking(true)}>
        {label}
      </AllowedButton>
      {asking && (
        <Confirm
          {...dialog}
          onDone={(value) => {
            close();
            onDone(value);
          }}
          onClose={close}
        />
      )}
    </>
  );
}

interface DeleteButtonProps
  extends Pick<ConfirmButtonProps<unknown>, "title" | "look" | "idle" | "onDone" | "children"> {
  /** The endpoint of the record. */
  readonly path: string;
  /** Its name, which the user must type. */
  readonly name: string;
  readonly label?: string;
}

/** A button that deletes one record. */
export function DeleteButton({ path, name, label = "Delete…", ...others }: DeleteButtonProps) {
  const { api } = useSession();
  return (
    <ConfirmButton
      {...others}
      label={label}
      needs={needsOf(path, "DELETE")}
      typing={name}
      action="Delete"
      send={() => api.call(path, { method: "DELETE" })}
    />
  );
}

interface ActionButtonProps {
  readonly path: string;
  readonly action: Action;
  readonly onDone: () => void;
}

/** A button that runs an action of a part, after a dialog that explains it. */
export function ActionButton({ path, action: { label, text }, onDone }: ActionButtonProps) {
  const { api } = useSession();
  const title = label.replace("…", "");
  return (
    <ConfirmButton
      look="button slim"
      label={label}
      needs={needsOf(path)}
      title={title}
      typing=""
      action={title}
      send={() => api.call(path, { body: {} })}
      onDone={onDone}
    >
      <p>{text}</p>
    </ConfirmButton>
  );
}
