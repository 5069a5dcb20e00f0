import type { ComponentChildren } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { ASKED_PATHS } from "../asked-paths.ts";
import { href } from "../href.ts";
import type { Problem, Refusal } from "../result.ts";
import { mayDo, SessionContext } from "../session.ts";
import { Copy } from "./controls.tsx";
import { Icon, type IconName } from "./icons.tsx";
import { titleOf } from "./problem-title.ts";

type Tone = "bad" | "warn" | "good" | "plain";

const ICONS: Readonly<Record<Tone, IconName>> = { bad: "alert", warn: "alert", good: "check", plain: "info" };

interface NoticeProps {
  readonly tone?: Tone;
  readonly title: string;
  readonly children?: ComponentChildren;
}

/** A message for the user. A bad one is announced at once. */
export function Notice({ tone = "plain", title, children }: NoticeProps) {
  return (
    <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      <Icon name={ICONS[tone]} size={18} />
      <div class="break">
        <strong>{title}</strong>
        {children && <div>{children}</div>}
      </div>
    </div>
  );
}

/** The warnings of an answer, each in a message. */
export function Warnings({ of }: { readonly of: { readonly warnings?: readonly string[] | null } | null }) {
  return (
    <>
      {of?.warnings?.map((warning) => (
        <Notice key={warning} tone="warn" title={warning} />
      ))}
    </>
  );
}

/** Why the policies refused the request; null until it is known. */
function useRefusal({ explain }: Problem): Refusal | null {
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  useEffect(() => {
    let isShown = true;
    setRefusal(null);
    explain?.().then((found) => {
      if (isShown) setRefusal(found);
    });
    return () => {
      isShown = false;
    };
  }, [explain]);
  return refusal;
}

function RefusalText({ refusal: { operation, path, message, hcl } }: { readonly refusal: Refusal }) {
  return (
    <>
      <p>
        <code>{operation}</code> of <code>{path}</code>. {message}
      </p>
      <AllowingPolicy hcl={hcl} />
    </>
  );
}

/** The policy that would allow a request. Renders nothing when no additional policy can. */
export function AllowingPolicy({ hcl }: { readonly hcl: string | null }) {
  if (hcl === null) return null;
  return (
    <>
      <p>With this policy besides its others, the token may do it:</p>
      <Copy value={hcl} label="Policy" />
    </>
  );
}

/** A failed call: the server's message, and the request id. */
export function ProblemNotice({ problem, onRetry }: { readonly problem: Problem; readonly onRetry?: () => void }) {
  const { status, messages, requestId } = problem;
  const refusal = useRefusal(problem);
  const title = titleOf(refusal ? 403 : status);
  return (
    <Notice tone={refusal || status === 403 ? "warn" : "bad"} title={title}>
      {refusal ? <RefusalText refusal={refusal} /> : messages.map((message) => <p key={message}>{message}</p>)}
      {requestId !== "" && (
        <p class="small muted">
          Request <RequestId id={requestId} />
        </p>
      )}
      {onRetry && status !== 403 && (
        <button type="button" class="button slim" onClick={onRetry}>
          Try again
        </button>
      )}
    </Notice>
  );
}

/** The id of a failed request, as a link to its explanation for who may read it. */
function RequestId({ id }: { readonly id: string }) {
  const session = useContext(SessionContext);
  const mayRead = session !== null && mayDo(session, ASKED_PATHS.audit, "read", "sudo");
  return mayRead ? <a href={href(["requests", id])}>{id}</a> : <code>{id}</code>;
}

interface FocusedProps {
  /** The content gets the focus whenever this changes, unless it is null. */
  readonly on: unknown;
  readonly children: ComponentChildren;
}

/** Content that takes the focus, so that it is scrolled into view, and a screen reader continues there. */
export function Focused({ on, children }: FocusedProps) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (on !== null) element.current?.focus();
  }, [on]);
  return (
    <div ref={element} tabIndex={-1}>
      {children}
    </div>
  );
}

/** Why the server refused a submitted form. It takes the focus, as it may be far from the button. */
export function SendProblem({ problem }: { readonly problem: Problem | null }) {
  if (!problem) return null;
  return (
    <Focused on={problem}>
      <ProblemNotice problem={problem} />
    </Focused>
  );
}
