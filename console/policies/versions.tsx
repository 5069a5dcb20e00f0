import { useState } from "preact/hooks";
import type { PolicyVersion, StoredPolicy, PolicyVersions as Versions } from "../../client/answers.d.ts";
import { needsOf } from "../needed-capabilities.ts";
import { useSession } from "../session.ts";
import { AskedBy } from "../tokens/links.tsx";
import { AllowedButton, Card, DataTable, Loading, Time, useLoad } from "../ui/index.ts";
import { DiffView } from "./diff-view.tsx";
import { endpointOf, otherSettings, versionsPath } from "./policy-endpoint.ts";

interface PolicyVersionsProps {
  readonly name: string;
  readonly current: StoredPolicy;
  /** True while the editor has unsaved text, which restoring a version would replace. */
  readonly isUnsaved: boolean;
  readonly onRestore: (version: PolicyVersion) => void;
}

/** The stored versions of a policy, and for a selected version the changes that restoring it makes. */
export function PolicyVersions({ name, current, isUnsaved, onRestore }: PolicyVersionsProps) {
  const { api } = useSession();
  const path = versionsPath(name);
  const versions = useLoad(`${name} ${current.version}`, () => api.read<Versions>(path, { list: true }));
  const [opened, setOpened] = useState<number | null>(null);
  const restore = (version: PolicyVersion): void => {
    setOpened(null);
    onRestore(version);
  };
  const isRefused = versions.problem?.status === 403;
  const rows = versions.value?.keys.flatMap((key) => versions.value?.key_info[key] ?? []);
  if (isRefused || rows?.length === 0) {
    return (
      <Card title="Versions" body>
        <p class="small muted">
          {isRefused ? "Your policies refuse to show its earlier versions." : "No earlier version is kept."}
        </p>
      </Card>
    );
  }
  return (
    <Card title="Versions" of={versions}>
      <DataTable
        label="Versions of the policy"
        rows={rows}
        keyOf={({ version }) => String(version)}
        columns={[
          {
            label: "Version",
            cell: ({ version }) =>
              version === current.version ? (
                <>{version}, the current one</>
              ) : (
                <button
                  type="button"
                  class="link"
                  aria-expanded={opened === version}
                  onClick={() => setOpened(opened === version ? null : version)}
                >
                  Version {version}
                </button>
              ),
          },
          { label: "Written", cell: ({ modified }) => <Time at={modified} both /> },
          { label: "By", cell: ({ by }) => <AskedBy by={by} /> },
        ]}
      />
      {opened !== null && opened !== current.version && (
        <OneVersion key={opened} path={path} version={opened} {...{ name, current, isUnsaved }} onRestore={restore} />
      )}
    </Card>
  );
}

interface OneVersionProps extends PolicyVersionsProps {
  readonly path: string;
  readonly version: number;
}

function OneVersion({ path, version, name, current, isUnsaved, onRestore }: OneVersionProps) {
  const { api } = useSession();
  const found = useLoad(`${path} ${version}`, () => api.read<PolicyVersion>(path, { version }));
  const { value } = found;
  if (!value) return <Loading of={found} />;
  const others = otherSettings(value, current);
  return (
    <div class="body stack">
      <textarea
        class="mono"
        aria-label={`Text of version ${version}`}
        value={value.policy}
        readOnly
        spellcheck={false}
        rows={Math.min(20, value.policy.split("\n").length + 1)}
        wrap="off"
      />
      {value.policy === current.policy ? (
        <p class="small muted">Its text is that of the current version.</p>
      ) : (
        <DiffView
          title={`What restoring version ${version} changes`}
          lines={`Lines of version ${version}`}
          before={current.policy}
          after={value.policy}
        />
      )}
      {others.length > 0 && (
        <p class="small muted">
          It had other settings ({others.join(", ")}). Only the text is restored: settings stay as they are now.
        </p>
      )}
      <div class="actions">
        <AllowedButton
          look="button"
          needs={needsOf(endpointOf(name))}
          idle={
            value.policy === current.policy
              ? "it is the current text"
              : isUnsaved
                ? "save or undo your changes first"
                : ""
          }
          onClick={() => onRestore(value)}
        >
          Restore as a new version…
        </AllowedButton>
      </div>
    </div>
  );
}
