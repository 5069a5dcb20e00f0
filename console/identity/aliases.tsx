import { useState } from "preact/hooks";
import type { AuthMounts } from "../../client/answers.d.ts";
import { href, pathOf } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { DeleteButton } from "../records/confirm.tsx";
import type { FieldGroup } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { useSession } from "../session.ts";
import { AllowedButton, Card, DataTable, Dialog, ProblemNotice, useLoad } from "../ui/index.ts";
import type { Alias } from "./record-fields.ts";

interface AliasesProps {
  readonly kind: "entity-alias" | "group-alias";
  /** Id of the entity or group. */
  readonly owner: string;
  readonly aliases: readonly Alias[];
  readonly onChange: () => void;
}

/** The names by which auth methods know an entity or a group. */
export function Aliases({ kind, owner, aliases, onChange }: AliasesProps) {
  const [adding, setAdding] = useState(false);
  return (
    <Card
      title="Aliases"
      beside={
        (kind === "entity-alias" || aliases.length === 0) && (
          <AllowedButton look="button slim" needs={needsOf(`identity/${kind}`)} onClick={() => setAdding(true)}>
            New alias…
          </AllowedButton>
        )
      }
    >
      <DataTable
        empty={<p class="body muted">None: no login leads to it.</p>}
        label="Aliases"
        rows={aliases}
        keyOf={({ id }) => id}
        columns={[
          { label: "Name", cell: ({ name }) => name },
          {
            label: "Method",
            cell: ({ mount_path: path }) => (
              <a class="mono" href={href(["methods", path.replace(/^auth\/|\/$/g, "")])}>
                {path || "gone"}
              </a>
            ),
          },
          {
            label: "Action",
            right: true,
            cell: (alias) => (
              <DeleteButton
                path={`identity/${kind}/id/${pathOf(alias.id)}`}
                name={alias.name}
                title="Delete the alias"
                onDone={onChange}
              >
                <p>Logins of this name lead elsewhere from now on. Tokens that came by it stay.</p>
              </DeleteButton>
            ),
          },
        ]}
      />
      {adding && (
        <NewAlias
          kind={kind}
          owner={owner}
          onMade={() => {
            setAdding(false);
            onChange();
          }}
          onClose={() => setAdding(false)}
        />
      )}
    </Card>
  );
}

interface NewAliasProps {
  readonly kind: AliasesProps["kind"];
  readonly owner: string;
  readonly onMade: () => void;
  readonly onClose: () => void;
}

function NewAlias({ kind, owner, onMade, onClose }: NewAliasProps) {
  const { api } = useSession();
  const mounts = useLoad("mounts", () => api.read<AuthMounts>("sys/auth"));
  const paths = Object.keys(mounts.value ?? {});
  const groups: readonly FieldGroup[] = [
    {
      title: "Alias",
      fields: [
        { name: "mount_accessor", label: "Auth method", kind: "choice", choices: paths },
        { name: "name", label: "Name that the method knows", kind: "text", required: true },
      ],
    },
  ];
  return (
    <Dialog title="New alias" onClose={onClose}>
      {mounts.problem && <ProblemNotice problem={mounts.problem} />}
      {mounts.value && (
        <RecordForm
          groups={groups}
          record={null}
          action="Make the alias"
          request={({ mount_accessor: mount, name }) => ({
            path: `identity/${kind}`,
            body: { name, canonical_id: owner, mount_accessor: mounts.value?.[String(mount)]?.accessor },
          })}
          onSaved={onMade}
        />
      )}
    </Dialog>
  );
}
