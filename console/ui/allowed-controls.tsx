import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { capitalized } from "../format.ts";
import type { Needs } from "../needed-capabilities.ts";
import { useRefusal } from "../session.ts";
import { Icon } from "./icons.tsx";

interface AllowedProps {
  /** Classes of the button. */
  readonly look: string;
  /** The capabilities that the action needs; null when it needs none, or when they are not known yet. */
  readonly needs: Needs | null;
  readonly children: ComponentChildren;
}

interface AllowedLinkProps extends AllowedProps {
  readonly href: string;
  /**
   * True when `needs` is only an example, as the policies may allow similar paths. The link then stays usable, and
   * shows a lock.
   */
  readonly isExample?: boolean;
}

/** A link styled as a button. If the policies refuse its target, it is a disabled button with the reason. */
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
  /** Absent for a submit button. */
  readonly onClick?: () => void;
  /** Why the action has no effect now, as the description of the disabled button; "" when it has one. */
  readonly idle?: string | undefined;
  /** The id of the form to submit, when the button is outside of it. */
  readonly form?: string;
  /** True while the action is under way. */
  readonly busy?: boolean;
}

/** A button. If the policies refuse its action, it is disabled and gives the reason. */
export function AllowedButton({ look, needs, onClick, idle = "", form, busy, children }: AllowedButtonProps) {
  const refusal = useRefusal(needs);
  if (refusal !== "") return <Refused look={look} refusal={refusal} content={children} />;
  if (idle !== "") return <Dead look={look} why={idle} content={children} />;
  return (
    <button type={onClick ? "button" : "submit"} class={look} onClick={onClick} form={form} aria-disabled={busy}>
      {children}
    </button>
  );
}

const refusedLook = (look: string): string => `${look.replace(/ (?:primary|danger)/, "")} refused`;

/** The button of an action that the policies refuse. A screen reader reads the reason with the button's name. */
function Refused({ look, refusal, content }: { look: string; refusal: string; content: ComponentChildren }) {
  const more = <span class="visually-hidden">, refused: {refusal}</span>;
  return (
    <Dead
      look={look}
      why={refusal}
      content={
        <>
          {content}
          {more}
        </>
      }
    />
  );
}

interface DeadProps {
  readonly look: string;
  /** Why it is disabled. */
  readonly why: string;
  readonly content: ComponentChildren;
}

/**
 * A disabled button. It uses `aria-disabled`, so that the keyboard can reach it. A click shows the reason, since touch
 * screens and keyboards have no hover for the title.
 */
function Dead({ look, why, content }: DeadProps) {
  const [isTold, setIsTold] = useState(false);
  return (
    <>
      <button
        type="button"
        class={refusedLook(look)}
        aria-disabled="true"
        title={why}
        onClick={() => setIsTold(true)}
        onBlur={() => setIsTold(false)}
      >
        {content}
      </button>
      {isTold && (
        <span class="why-not" role="status">
          {capitalized(why)}
        </span>
      )}
    </>
  );
}
