import { useState } from "preact/hooks";
import { needsOf } from "../needs.ts";
import { useSession } from "../session.ts";
import { AllowedButton } from "../ui/allowed.tsx";
import { Confirm } from "./confirm.tsx";
import type { Action } from "./part.ts";

interface ActionButtonProps {
  /** The endpoint that does it. */
  readonly path: string;
  readonly action: Action;
  readonly onDone: () => void;
}

/** A button that runs an action of a part, after a dialog that explains the action. */
export function ActionButton({ path, action, onDone }: ActionButtonProps) {
  const { api } = useSession();
  const [asking, setAsking] = useState(false);
  const label = action.label.replace("…", "");
  return (
    <>
      <AllowedButton look="button slim" needs={needsOf(path)} onClick={() => setAsking(true)}>
        {action.label}
      </AllowedButton>
      {asking && (
        <Confirm
          title={label}
          typing=""
          action={label}
          send={() => api.call(path, { body: {} })}
          onDone={() => {
            setAsking(false);
            onDone();
          }}
          onClose={() => setAsking(false)}
        >
          <p>{action.text}</p>
        </Confirm>
      )}
    </>
  );
}
