import { useState } from "preact/hooks";
import { Confirm } from "../records/confirm.tsx";
import { useSession } from "../session.ts";
import { belowMount } from "./endpoint.ts";
import type { Action } from "./parts.ts";

interface ActionButtonProps {
  readonly mount: string;
  readonly action: Action;
  readonly onDone: () => void;
}

/** A button that runs an action of a part, after a dialog that explains the action. */
export function ActionButton({ mount, action, onDone }: ActionButtonProps) {
  const { api } = useSession();
  const [asking, setAsking] = useState(false);
  const label = action.label.replace("…", "");
  return (
    <>
      <button type="button" class="button slim" onClick={() => setAsking(true)}>
        {action.label}
      </button>
      {asking && (
        <Confirm
          title={label}
          typing=""
          action={label}
          send={() => api.call(belowMount(mount, action.path), { body: {} })}
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
