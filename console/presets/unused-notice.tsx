import type { ComponentChildren } from "preact";
import { Notice } from "../ui/index.ts";
import type { UnusedSettings } from "./mount-settings.ts";

interface AgreementProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly children: ComponentChildren;
}

/** A checkbox that confirms a change of something that exists already. */
export function Agreement({ checked, onChange, children }: AgreementProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{children}</span>
    </label>
  );
}

interface UnusedProps {
  readonly mount: string;
  readonly unused: UnusedSettings;
  /** The effect of setting the secret on other roles; "" without any. */
  readonly effect: string;
  readonly setsSecret: boolean;
  readonly onSetsSecret: (sets: boolean) => void;
}

/** Shows before the setup which fields would have no effect, and offers to set the secret. */
export function UnusedNotice({ mount, unused, effect, setsSecret, onSetsSecret }: UnusedProps) {
  const { labels, found, canSetSecret, lacksSecret } = unused;
  const names = labels.map((label) => `“${label}”`).join(", ");
  return (
    <>
      <Notice
        tone="warn"
        title={`auth/${mount}/ has settings already${setsSecret || names === "" ? "" : `: ${names} will not be used`}`}
      >
        {found === null ? "Your policies do not let you read them. They stay as they are." : `It ${found}.`}
      </Notice>
      {canSetSecret && (
        <Agreement checked={setsSecret} onChange={onSetsSecret}>
          Set {names} there
          <span class="hint">
            {" "}
            {lacksSecret ? "It has none." : "It takes the place of the one that is there."} The rest stays. {effect}
          </span>
        </Agreement>
      )}
    </>
  );
}
