import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { noteDone } from "../records/done-notice.tsx";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { EndOfMount } from "./end-of-mount.tsx";
import { ofMount } from "./mount-paths.ts";

interface MountActionsProps {
  readonly mount: string;
  readonly type: string;
  /** Called when its tokens have ended, and the caller may not read the receipt. */
  readonly onEnded: () => void;
}

/** Ends all tokens of a method, or disables it. */
export function MountActions({ mount, type, onEnded }: MountActionsProps) {
  const { api } = useSession();
  const tuning = ofMount(mount, "tune");
  return (
    <>
      <EndOfMount
        mount={mount}
        label="End all tokens…"
        needs={needsOf(tuning)}
        title={`End the tokens of auth/${mount}/`}
        action="End them"
        send={() => api.call(tuning, { body: { not_before: "now" } })}
        onDone={(receipt) => (receipt === "" ? onEnded() : go(receipt))}
      >
        <p>
          From the answer on they are refused, with everything below them. Clients that may log in by it log in again.
        </p>
        {type === "token" && <p>The token that you are signed in with may be one of them.</p>}
      </EndOfMount>
      {type !== "token" && (
        <EndOfMount
          mount={mount}
          label="Disable the method…"
          needs={needsOf(ofMount(mount), "DELETE")}
          title={`Disable auth/${mount}/`}
          action="Disable"
          send={() => api.call(ofMount(mount), { method: "DELETE" })}
          onDone={(receipt) => {
            noteDone(`auth/${mount}/ is disabled, and its tokens are refused`, ofMount(mount));
            go(receipt || href(["methods"]), "replace");
          }}
        >
          <p>
            From the answer on its tokens are refused, with everything below them, and no login by it succeeds. Its
            settings, roles and lists are deleted. There is no way back.
          </p>
        </EndOfMount>
      )}
    </>
  );
}
