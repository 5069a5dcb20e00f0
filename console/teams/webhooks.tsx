import { useState } from "preact/hooks";
import { pathOf } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { DeleteButton } from "../records/confirm.tsx";
import { RecordForm } from "../records/record-form.tsx";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { AllowedButton, Card, DataTable, Empty, Notice, SendProblem, Tags, useLoad } from "../ui/index.ts";
import { type Resource, resourceRequest, WEBHOOK_TYPE as TYPE, teamsPath, type Webhook } from "./resources.ts";
import { WEBHOOK } from "./team-fields.ts";
import { WebhookCard } from "./webhook-card.tsx";

/** The webhooks of an organization, which are called about the end of its tokens. */
export function Webhooks({ organization }: { readonly organization: string }) {
  const { api } = useSession();
  const path = teamsPath("organizations", organization, TYPE);
  const list = useLoad(path, () => api.read<readonly Resource<Webhook>[]>(path));
  const [problem, setProblem] = useState<Problem | null>(null);
  const [chosen, setChosen] = useState("");
  const shown = list.value?.find(({ id }) => id === chosen);
  const [verified, setVerified] = useState(false);
  const webhookPath = (id: string): string => `${path}/${pathOf(id)}`;
  const verificationPath = (id: string): string => `${webhookPath(id)}/actions/verify`;
  const verify = async (id: string): Promise<void> => {
    const answer = await api.call(verificationPath(id), { method: "POST" });
    setProblem(answer.ok ? null : answer.problem);
    setVerified(answer.ok);
  };
  return (
    <div class="columns">
      <Card of={list} title="Webhooks">
        <SendProblem problem={problem} />
        {verified && <Notice tone="good" title="It took the verification" />}
        <DataTable
          empty={
            <Empty title="No webhooks yet">
              <p>A webhook is notified 30 and 7 days before a token of a team ends, and when it has ended.</p>
            </Empty>
          }
          label="Webhooks"
          rows={list.value}
          keyOf={({ id }) => id}
          columns={[
            {
              label: "Name",
              cell: (webhook) => (
                <button type="button" class="link" onClick={() => setChosen(webhook.id)}>
                  {webhook.attributes.name}
                </button>
              ),
            },
            { label: "Address", cell: ({ attributes }) => <span class="mono">{attributes.url}</span> },
            { label: "Enabled", cell: ({ attributes }) => (attributes.enabled ? "yes" : "no") },
            { label: "Notified of", cell: ({ attributes }) => <Tags names={attributes.triggers} most={1} /> },
            {
              label: "Actions",
              right: true,
              cell: (webhook) => (
                <span class="row">
                  <AllowedButton
                    look="button slim"
                    needs={needsOf(verificationPath(webhook.id))}
                    onClick={() => verify(webhook.id)}
                  >
                    Verify
                  </AllowedButton>
                  <DeleteButton
                    path={webhookPath(webhook.id)}
                    name={webhook.attributes.name}
                    title="Delete the webhook"
                    onDone={() => {
                      setChosen("");
                      list.reload();
                    }}
                  >
                    <p>It is no longer notified.</p>
                  </DeleteButton>
                </span>
              ),
            },
          ]}
        />
      </Card>
      {shown ? (
        <WebhookCard
          key={shown.id}
          path={webhookPath(shown.id)}
          webhook={shown}
          onSaved={list.reload}
          onClose={() => setChosen("")}
        />
      ) : (
        <Card title="New webhook" body>
          <RecordForm
            groups={WEBHOOK}
            record={null}
            action="Make the webhook"
            request={(values) => resourceRequest("POST", path, TYPE, { ...values, "destination-type": "generic" })}
            onSaved={list.reload}
          />
        </Card>
      )}
    </div>
  );
}
