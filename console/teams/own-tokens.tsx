import { useState } from "preact/hooks";
import { needsOf } from "../needed-capabilities.ts";
import { ConfirmButton } from "../records/confirm.tsx";
import { RecordForm } from "../records/record-form.tsx";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { AllowedButton, Card, DataTable, Dialog, End, SecretDialog, Time, useLoad } from "../ui/index.ts";
import { readResource } from "./resource-api.ts";
import {
  OWN_TOKENS,
  type OwnToken,
  ownTokenPath,
  type Resource,
  resourceRequest,
  type TeamToken,
} from "./resources.ts";
import { NEW_OWN_TOKEN } from "./team-fields.ts";

/** The tokens of the organization itself, one of each kind, which no list of tokens has. */
export function OwnTokens({ organization }: { readonly organization: string }) {
  const { api } = useSession();
  const path = ownTokenPath(organization);
  const [making, setMaking] = useState<{ readonly kind: OwnToken; readonly hasOne: boolean } | null>(null);
  const [secret, setSecret] = useState("");
  const tokens = useLoad(path, async () => {
    const found: [OwnToken, TeamToken | null][] = [];
    for (const kind of OWN_TOKENS) {
      const answer = await readResource<TeamToken>(api, path, kind.query);
      if (!answer.ok && answer.problem.status !== 404) return answer;
      found.push([kind, answer.ok ? answer.value.attributes : null]);
    }
    return done(found);
  });
  const made = (_: unknown, { attributes: { token } }: Resource<TeamToken>): void => {
    setMaking(null);
    setSecret(token ?? "");
    tokens.reload();
  };
  return (
    <Card of={tokens} title="Tokens of the organization itself">
      {tokens.value && (
        <DataTable
          label="Tokens of the organization itself"
          rows={tokens.value}
          keyOf={([{ title }]) => title}
          columns={[
            { label: "Token", cell: ([{ title }]) => title },
            {
              label: "Ends",
              cell: ([, token]) =>
                token ? <End at={token["expired-at"]} /> : <span class="muted">no such token</span>,
            },
            {
              label: "Made",
              cell: ([, token]) => token && <Time at={token["created-at"]} />,
            },
            {
              label: "Last used",
              cell: ([, token]) =>
                token &&
                (token["last-used-at"] ? <Time at={token["last-used-at"]} /> : <span class="muted">never</span>),
            },
            {
              label: "Change",
              right: true,
              cell: ([kind, token]) => (
                <span class="actions">
                  <AllowedButton
                    look="button slim"
                    needs={needsOf(path)}
                    onClick={() => setMaking({ kind, hasOne: token !== null })}
                  >
                    {token ? "Replace…" : "Make…"}
                  </AllowedButton>
                  {token && (
                    <ConfirmButton
                      label="Revoke…"
                      needs={needsOf(path, "DELETE")}
                      title={`Revoke the token ${kind.title}`}
                      typing={organization}
                      action="Revoke"
                      send={() => api.call(path, { method: "DELETE", query: kind.query })}
                      onDone={tokens.reload}
                    >
                      <p>It is refused from the answer on.</p>
                    </ConfirmButton>
                  )}
                </span>
              ),
            },
          ]}
        />
      )}
      {making && (
        <Dialog title={`New token ${making.kind.title}`} onClose={() => setMaking(null)}>
          {making.hasOne && <p>The present one is refused from the answer on: who has it needs the new one.</p>}
          <RecordForm
            groups={NEW_OWN_TOKEN}
            record={null}
            action="Make the token"
            onCancel={() => setMaking(null)}
            request={(attributes) =>
              resourceRequest("POST", path, "authentication-tokens", { ...attributes, ...making.kind.query })
            }
            onSaved={made}
          />
        </Dialog>
      )}
      {secret !== "" && <SecretDialog title="Token made" label="Token" secret={secret} onClose={() => setSecret("")} />}
    </Card>
  );
}
