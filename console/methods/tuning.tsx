import { useState } from "preact/hooks";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needs.ts";
import { Confirm } from "../records/confirm.tsx";
import type { RecordValue } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { AllowedButton } from "../ui/allowed.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../ui/use-load.ts";
import { ofMount } from "./endpoint.ts";
import { tuningOf } from "./parts.ts";
import { tokensOfMounts } from "./token-counts.ts";

type Asking = "" | "end" | "disable";

/** How a mount is tuned, and how all of its tokens are ended, or the mount with them. */
export function Tuning({ mount, type }: { readonly mount: string; readonly type: string }) {
  const { api } = useSession();
  const [asking, setAsking] = useState<Asking>("");
  const path = ofMount(mount, "tune");
  const tuning = useLoad(path, () => api.read<RecordValue>(path));
  const counts = useLoad("counts", () => tokensOfMounts(api));
  const tokens = counts.value?.get(`auth/${mount}/`) ?? 0;
  const notBefore = tuning.value?.not_before;
  const amount = counts.value ? counted(tokens, "token") : "all tokens";
  return (
    <div class="columns">
      <section class="card" aria-labelledby="tuning">
        <header>
          <h2 id="tuning">Lifetimes and visibility</h2>
        </header>
        <div class="body">
          {tuning.problem && <ProblemNotice problem={tuning.problem} onRetry={tuning.reload} />}
          {tuning.value && (
            <RecordForm
              groups={tuningOf(type)}
              record={tuning.value}
              action="Save"
              request={(body) => ({ path, body })}
              onSaved={tuning.reload}
            />
          )}
        </div>
      </section>
      <section class="card" aria-labelledby="mount-end">
        <header>
          <h2 id="mount-end">End what it gave</h2>
        </header>
        <div class="body stack">
          <p>
            {counts.value ? <strong class="number">{amount}</strong> : "Its tokens"} made by this method end, with
            everything below them.
          </p>
          {typeof notBefore === "string" && (
            <p>
              Tokens from before <Time at={notBefore} both /> are not accepted.
            </p>
          )}
          <div class="actions">
            <AllowedButton look="button danger" needs={needsOf(path)} onClick={() => setAsking("end")}>
              End all tokens…
            </AllowedButton>
            {type !== "token" && (
              <AllowedButton
                look="button danger"
                needs={needsOf(ofMount(mount), "DELETE")}
                onClick={() => setAsking("disable")}
              >
                Disable the method…
              </AllowedButton>
            )}
          </div>
        </div>
      </section>
      {asking === "end" && (
        <Confirm
          title={`End the tokens of auth/${mount}/`}
          typing={mount}
          action="End them"
          send={() => api.call(path, { body: { not_before: "now" } })}
          onDone={() => {
            setAsking("");
            tuning.reload();
            counts.reload();
          }}
          onClose={() => setAsking("")}
        >
          <p>
            From the answer on {amount} that it gave until now are refused, with everything below them. Clients that may
            log in by it log in again.
          </p>
          {type === "token" && <p>The token that you are signed in with may be one of them.</p>}
        </Confirm>
      )}
      {asking === "disable" && (
        <Confirm
          title={`Disable auth/${mount}/`}
          typing={mount}
          action="Disable"
          send={() => api.call(ofMount(mount), { method: "DELETE" })}
          onDone={() => go(href(["methods"]), "replace")}
          onClose={() => setAsking("")}
        >
          <p>
            From the answer on {amount} are refused, with everything below them, and no login by it succeeds. Its
            settings, roles and lists are deleted. There is no way back.
          </p>
        </Confirm>
      )}
    </div>
  );
}
