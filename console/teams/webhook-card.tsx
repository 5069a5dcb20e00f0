import { useState } from "preact/hooks";
import { RecordForm } from "../records/record-form.tsx";
import { useSession } from "../session.ts";
import { Card, DataTable, Pager, Time, useLoad } from "../ui/index.ts";
import { listResources } from "./resource-api.ts";
import { type Delivery, type Resource, resourceRequest, WEBHOOK_TYPE, type Webhook } from "./resources.ts";
import { WEBHOOK } from "./team-fields.ts";

interface WebhookCardProps {
  readonly path: string;
  readonly webhook: Resource<Webhook>;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

/** One webhook: its settings and its deliveries. */
export function WebhookCard({ path, webhook: { attributes }, onSaved, onClose }: WebhookCardProps) {
  return (
    <div class="stack">
      <Card
        title={<span class="break">Webhook {attributes.name}</span>}
        beside={
          <button type="button" class="button slim" onClick={onClose}>
            New webhook
          </button>
        }
        body
      >
        <RecordForm
          groups={WEBHOOK}
          record={{ ...attributes }}
          action="Save"
          request={(values) => resourceRequest("PATCH", path, WEBHOOK_TYPE, values)}
          onSaved={onSaved}
        />
      </Card>
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
    <Card
      of={deliveries}
      title="Deliveries"
      beside={
        <button type="button" class="button slim" onClick={deliveries.reload}>
          Look again
        </button>
      }
    >
      <DataTable
        empty={<p class="body muted">Nothing was sent yet.</p>}
        label="Deliveries"
        rows={value?.items}
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
      {value && <Pager page={page} pages={value.pages} onPage={setPage} />}
    </Card>
  );
}

const TONES: Readonly<Record<string, string>> = { delivered: "tag good", failed: "tag bad" };
const toneOf = (state: string): string => TONES[state] ?? "tag";
