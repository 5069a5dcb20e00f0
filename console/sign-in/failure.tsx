import type { Problem } from "../result.ts";
import { Notice, ProblemNotice } from "../ui/index.ts";
import { redirectUri } from "./begin-provider-login.ts";
import { type ChosenMethod, pathOfMethod } from "./login-forms.ts";
import { loginText } from "./provider-error.ts";

interface FailureProps {
  readonly problem: Problem;
  /** The auth method, or the kind of token. */
  readonly of: ChosenMethod | string;
  /** The provider's error text; "" for none. */
  readonly providerMessage: string;
}

const WRAPPING = "wrapping token";

/** The message of a failed sign-in. */
export function Failure({ problem, of, providerMessage }: FailureProps) {
  const { status, messages, requestId } = problem;
  if (status === 0 && requestId === "" && of === "token") {
    return (
      <Notice tone="bad" title="You are not signed in.">
        {messages.join(" ")}
      </Notice>
    );
  }
  if (status !== 400 && status !== 403) return <ProblemNotice problem={problem} />;
  if (typeof of === "string") {
    return (
      <Notice tone="bad" title={`This ${of} is not valid here.`}>
        It may have expired, been used up or been revoked, or its policies let it do nothing, not even look itself up.
        {of === WRAPPING && " If you did not unwrap it, report this to its sender: somebody else has the token inside."}
      </Notice>
    );
  }
  return (
    <Notice tone="bad" title="You are not signed in.">
      {messages.map((message) => (
        <p key={message}>{loginText(message, pathOfMethod(of))}</p>
      ))}
      {providerMessage !== "" && <p>Its message: “{providerMessage}”</p>}
      {messages.some((message) => message.includes("redirect_uri")) && (
        <p>
          The role has to list <code>{redirectUri(pathOfMethod(of))}</code> in its <code>allowed_redirect_uris</code>.
        </p>
      )}
      {requestId !== "" && (
        <p class="small muted">
          Request <code>{requestId}</code>
        </p>
      )}
    </Notice>
  );
}
