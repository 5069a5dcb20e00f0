import type { ComponentChildren } from "preact";
import type { Problem } from "../result.ts";
import { Icon, type IconName } from "./icons.tsx";

type Tone = "bad" | "warn" | "good" | "plain";

const ICONS: Readonly<Record<Tone, IconName>> = { bad: "alert", warn: "alert", good: "check", plain: "info" };

interface NoticeProps {
  readonly tone?: Tone;
  readonly title: string;
  readonly children?: ComponentChildren;
}

/** Something that the user should know. What is bad is announced at once. */
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

const TITLES: Readonly<Record<number, string>> = {
  0: "No answer",
  400: "Not accepted",
  403: "Refused by the policies of your token",
  404: "Not found",
  429: "Too many requests",
  503: "Grove can't answer now",
};

/** A failed call in the words of the server, with what to name when asking somebody about it. */
export function ProblemNotice({ problem, onRetry }: { readonly problem: Problem; readonly onRetry?: () => void }) {
  const { status, messages, requestId } = problem;
  return (
    <Notice tone={status === 403 ? "warn" : "bad"} title={TITLES[status] ?? "Something went wrong"}>
      {messages.map((message) => (
        <p key={message}>{message}</p>
      ))}
      {requestId !== "" && (
        <p class="small muted">
          Request <code>{requestId}</code>
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
