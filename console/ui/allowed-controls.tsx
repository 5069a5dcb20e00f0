import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Needs } from "../needed-capabilities.ts";
import { useRefusal } from "../session.ts";
import { Icon } from "./icons.tsx";

interface AllowedProps {
  /** Classes of the button. */
  readonly look: string;
  /** The capabilities that the action needs; null when it needs none, or they are not known yet. */
  readonly needs: Needs | null;
  readonly children: ComponentChildren;
}

interface AllowedLinkProps extends AllowedProps {
  readonly href: string;
  /** True: `needs` names an example path, and the policies may allow others. The link stays usable, with a lock. */
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
  /** Why there is nothing to do now: it is the description of the disabled button. "": there is. */
  readonly idle?: string | undefined;
  /** The id of the form that it submits, where it is not in it. */
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

/** A button of an action that the policies refuse. A screen reader reads the reason with its name. */
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
  /** Why it does nothing. */
  readonly why: string;
  readonly content: ComponentChildren;
}

/**
 * A button that does nothing now. It uses `aria-disabled`, so that the keyboard reaches it. Who presses it is told why:
 * a finger has no hover for the title, and the keyboard has none either.
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
          {why[0]?.toUpperCase()}
          {why.slice(1)}
        </span>
      )}
    </>
  );
}
