import { useState } from "preact/hooks";
import type { Quota } from "../../client/answers.d.ts";
import { count, counted } from "../format.ts";
import { pathOf } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { DeleteButton } from "../records/confirm.tsx";
import type { FieldGroup } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { AllowedButton, Card, DataTable, Dialog, useLoad } from "../ui/index.ts";

/** Most quotas that are read. */
const LISTED = 50;
const PATH = "sys/quotas/rate-limit";
const pathOfQuota = (name: string): string => `${PATH}/${pathOf(name)}`;

const QUOTA: readonly FieldGroup[] = [
  {
    title: "Quota",
    fields: [
      { name: "name", label: "Name", kind: "text", required: true, fixed: true },
      { name: "path", label: "Mount, or a path below one", kind: "text", hint: "Empty: every request." },
      { name: "role", label: "Logins by this role only", kind: "text" },
      { name: "rate", label: "Requests of one client", kind: "number", required: true },
      { name: "interval", label: "In", kind: "duration", hint: "Empty: a second." },
      { name: "block_interval", label: "A client that sends more waits", kind: "duration" },
    ],
  },
];

/** Limits on the requests of a client. */
export function Quotas() {
  const { api } = useSession();
  const [editing, setEditing] = useState<Quota | "new" | null>(null);
  const quotas = useLoad("quotas", async () => {
    const names = await api.list(PATH);
    if (!names.ok) return names;
    const read = await Promise.all(names.value.slice(0, LISTED).map((name) => api.read<Quota>(pathOfQuota(name))));
    // One that was deleted meanwhile is missing; one that can't be read must not look deleted.
    const unread = read.find((one) => !one.ok && one.problem.status !== 404);
    if (unread && !unread.ok) return unread;
    return done(read.flatMap((one) => (one.ok ? [one.value] : [])));
  });
  const close = (): void => {
    setEditing(null);
    quotas.reload();
  };
  return (
    <Card
      of={quotas}
      body
      title="Quotas"
      beside={
        <AllowedButton look="button slim" needs={needsOf(`${PATH}/new`)} onClick={() => setEditing("new")}>
          New quota…
        </AllowedButton>
      }
    >
      <DataTable
        empty={<p class="muted">None. A quota bounds what one client address may ask.</p>}
        label="Quotas"
        rows={quotas.value}
        keyOf={({ name }) => name}
        columns={[
          { label: "Name", cell: ({ name }) => name },
          {
            label: "On",
            cell: ({ path, role }) => <code>{[path || "everything", role].filter(Boolean).join(" ")}</code>,
          },
          {
            label: "Requests",
            cell: ({ rate, interval }) => `${count(rate)} in ${counted(interval ?? 1, "second")}`,
          },
          {
            label: "Actions",
            right: true,
            cell: (quota) => (
              <span class="row">
                <AllowedButton
                  look="button slim"
                  needs={needsOf(pathOfQuota(quota.name))}
                  onClick={() => setEditing(quota)}
                >
                  Change…
                </AllowedButton>
                <DeleteButton
                  path={pathOfQuota(quota.name)}
                  name={quota.name}
                  title="Delete the quota"
                  onDone={quotas.reload}
                >
                  <p>Clients may ask as much there as other quotas let them.</p>
                </DeleteButton>
              </span>
            ),
          },
        ]}
      />
      {editing !== null && (
        <Dialog title={editing === "new" ? "New quota" : editing.name} onClose={close}>
          <RecordForm
            groups={QUOTA}
            record={editing === "new" ? null : { ...editing }}
            action={editing === "new" ? "Make the quota" : "Save"}
            request={(changed) => {
              // A write replaces the whole quota.
              const { name, ...body } = { ...(editing === "new" ? {} : editing), ...changed } as Record<
                string,
                unknown
              >;
              return { path: pathOfQuota(String(name)), body };
            }}
            terraform={{ resource: { type: "vault_quota_rate_limit" } }}
            onSaved={close}
          />
        </Dialog>
      )}
    </Card>
  );
}
