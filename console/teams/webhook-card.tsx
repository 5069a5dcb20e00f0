import { useState } from "preact/hooks";
import { RecordForm } from "../records/record-form.tsx";
import { useSession } from "../session.ts";
import { DataTable } from "../ui/data-table.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { Pager } from "../ui/pager.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../ui/use-load.ts";
import { WEBHOOK } from "./forms.ts";
import {
  type Delivery,
  listResources,
  type Resource,
  resourceRequest,
  WEBHOOK_TYPE,
  type Webhook,
} from "./resources.ts";

interface WebhookCardProps {
  readonly path: string;
  readonly webhook: Resource<Webhook>;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

/** One webhook: its settings, and what was sent to it. */
export function WebhookCard({ path, webhook: { attributes }, onSaved, onClose }: WebhookCardProps) {
  return (
    <div class="stack">
      <section class="card" aria-labelledby="one-webhook">
        <header>
          <h2 id="one-webhook" class="break">
            Webhook {attributes.name}
          </h2>
          <button type="button" class="button slim" onClick={onClose}>
            New webhook
          </button>
        </header>
        <div class="body">
          <RecordForm
            groups={WEBHOOK}
            record={{ ...attributes }}
            action="Save"
            request={(values) => resourceRequest("PATCH", path, WEBHOOK_TYPE, values)}
            onSaved={onSaved}
          />
        </div>
      </section>
      <Deliveries path={`${path}/deliveries`} />
    </div>
  );
}

function Deliveries({ path }: { readonly path: string }) {
  const { api } = useSession();
  const [page, setPage] = useState(1);
  const deliveries = useLoad(`${path} ${page}`, () => listResources<Delivery>(api, path, page));
  const value = deliveries.value;
  return (
    <section class="card" aria-labelledby="deliveries">
      <header>
        <h2 id="deliveries">Deliveries</h2>
        <button type="button" class="button slim" onClick={deliveries.reload}>
          Look again
        </button>
      </header>
      {deliveries.problem && <ProblemNotice problem={deliveries.problem} onRetry={deliveries.reload} />}
      {value?.items.length === 0 && <p class="body muted">Nothing was sent yet.</p>}
      {value && value.items.length > 0 && (
        <DataTable
          label="Deliveries"
          rows={value.items}
          keyOf={({ id }) => id}
          columns={[
            {
              label: "Of",
              cell: ({ attributes }) => attributes.trigger.replace(/^team_token:/, "").replaceAll("_", " "),
            },
            { label: "State", cell: ({ attributes: { state } }) => <span class={toneOf(state)}>{state}</span> },
            { label: "Sent", cell: ({ attributes }) => <Time at={attributes["sent-at"]} /> },
            { label: "Attempts", right: true, cell: ({ attributes }) => attributes.attempts },
            { label: "Answer", cell: ({ attributes: { code, error } }) => error ?? code ?? "–" },
          ]}
        />
      )}
      {value && <Pager page={page} pages={value.pages} onPage={setPage} />}
    </section>
  );
}

const TONES: Readonly<Record<string, string>> = { delivered: "tag good", failed: "tag bad" };
const toneOf = (state: string): string => TONES[state] ?? "tag";
