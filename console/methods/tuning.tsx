import { counted } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { noteDone } from "../records/done-notice.tsx";
import type { RecordValue } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { countOfGroup } from "../tokens/count-of-group.ts";
import { Card, Time, useLoad } from "../ui/index.ts";
import { EndOfMount } from "./end-of-mount.tsx";
import { tokensOfMounts } from "./mount.ts";
import { ofMount } from "./mount-paths.ts";
import { tuningOf } from "./parts-by-type.ts";

/** The tuning of a mount, the revocation of all its tokens, and its disabling. */
export function Tuning({ mount, type }: { readonly mount: string; readonly type: string }) {
  const { api } = useSession();
  const path = ofMount(mount, "tune");
  const tuning = useLoad(path, () => api.read<RecordValue>(path));
  const counts = useLoad("counts", () => tokensOfMounts(api));
  const tokens = counts.value && countOfGroup(counts.value, `auth/${mount}/`);
  const notBefore = tuning.value?.not_before;
  const amount = tokens === null ? "all tokens" : counted(tokens, "token");
  return (
    <div class="columns">
      <Card of={tuning} title="Lifetimes and visibility" body>
        {tuning.value && (
          <RecordForm
            groups={tuningOf(type)}
            record={tuning.value}
            action="Save"
            request={(body) => ({ path, body })}
            onSaved={tuning.reload}
          />
        )}
      </Card>
      <Card title="End what it gave" body>
        <p>
          {tokens !== null ? <strong class="number">{amount}</strong> : "Its tokens"} made by this method end, with
          everything below them.
        </p>
        {typeof notBefore === "string" && (
          <p>
            Tokens from before <Time at={notBefore} both /> are not accepted.
          </p>
        )}
        <div class="actions">
          <EndOfMount
            mount={mount}
            label="End all tokens…"
            needs={needsOf(path)}
            title={`End the tokens of auth/${mount}/`}
            action="End them"
            send={() => api.call(path, { body: { not_before: "now" } })}
            onDone={(receipt) => {
              if (receipt !== "") return go(receipt);
              tuning.reload();
              counts.reload();
            }}
          >
            <p>
              From the answer on they are refused, with everything below them. Clients that may log in by it log in
              again.
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
        </div>
      </Card>
    </div>
  );
}
