import type { ComponentChildren } from "preact";
import type { Needs } from "../needs.ts";
import { useRefusal } from "../session.ts";
import { Icon } from "./icons.tsx";

interface AllowedProps {
  /** Classes of the button. */
  readonly look: string;
  /** What it does; null where that needs nothing, or is not known yet. */
  readonly needs: Needs | null;
  readonly children: ComponentChildren;
}

interface AllowedLinkProps extends AllowedProps {
  readonly href: string;
  /** True: `needs` has the path of an example, and the policies may allow others. The link stays, with a lock. */
  readonly isExample?: boolean;
}

/** A link styled as a button. Where the policies refuse its target, a disabled button with the reason. */
export function AllowedLink({ look, needs, href, isExample = false, children }: AllowedLinkProps) {
  const refusal = useRefusal(needs);
  if (refusal !== "" && !isExample) return <Refused look={look} refusal={refusal} content={children} />;
  return (
    <a class={look} href={href} title={refusal === "" ? undefined : refusal}>
      {children}
      {refusal !== "" && (
        <span class="lock">
          <Icon name="lock" size={13} />
          <span class="visually-hidden">, refused: {refusal}</span>
        </span>
      )}
    </a>
  );
}

interface AllowedButtonProps extends AllowedProps {
  /** Absent for the button that sends a form. */
  readonly onClick?: () => void;
  readonly disabled?: boolean | undefined;
  /** True while what it does is under way. */
  readonly busy?: boolean;
}

/** A button; disabled, with the reason, where the policies refuse what it does. */
export function AllowedButton({ look, needs, onClick, disabled, busy, children }: AllowedButtonProps) {
  const refusal = useRefusal(needs);
  if (refusal !== "") return <Refused look={look} refusal={refusal} content={children} />;
  return (
    <button
      type={onClick ? "button" : "submit"}
      class={look}
      onClick={onClick}
      disabled={disabled}
      aria-disabled={busy}
    >
      {children}
    </button>
  );
}

/** It keeps the focus and its reason can be heard: a disabled button could not be reached by keyboard. */
function Refused({ look, refusal, content }: { look: string; refusal: string; content: ComponentChildren }) {
  return (
    <button
      type="button"
      class={`${look.replace(/ (?:primary|danger)/, "")} refused`}
      aria-disabled="true"
      title={refusal}
    >
      {content}
      <span class="visually-hidden">, refused: {refusal}</span>
    </button>
  );
}
