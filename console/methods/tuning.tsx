import type { RecordValue } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { useSession } from "../session.ts";
import { Card, Time, useLoad } from "../ui/index.ts";
import { ofMount } from "./mount-paths.ts";
import { tuningOf } from "./parts-by-type.ts";

/** The tuning of a mount. */
export function Tuning({ mount, type }: { readonly mount: string; readonly type: string }) {
  const { api } = useSession();
  const path = ofMount(mount, "tune");
  const tuning = useLoad(path, () => api.read<RecordValue>(path));
  const notBefore = tuning.value?.not_before;
  return (
    <Card of={tuning} title="Lifetimes and visibility" body>
      {typeof notBefore === "string" && (
        <p>
          Tokens from before <Time at={notBefore} both /> are not accepted.
        </p>
      )}
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
  );
}
