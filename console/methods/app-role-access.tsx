import { useState } from "preact/hooks";
import type { RecordValue } from "../records/field.ts";
import { useSession } from "../session.ts";
import { Card, Copy, Segments, useLoad } from "../ui/index.ts";
import { agentCommands, loginCommands } from "./approle-commands.ts";
import { belowMount } from "./mount-paths.ts";

type Client = "command" | "agent";

const CLIENTS: readonly (readonly [Client, string])[] = [
  ["command", "By command"],
  ["agent", "bao agent"],
];

interface AppRoleAccessProps {
  readonly mount: string;
  /** The name of the role, and its record. */
  readonly name: string;
  readonly role: RecordValue;
  /** The origin that clients reach. */
  readonly address: string;
}

/** The role-id of a role, and how a client logs in with it. */
export function AppRoleAccess({ mount, name, role, address }: AppRoleAccessProps) {
  const { api } = useSession();
  const [client, setClient] = useState<Client>("command");
  const path = belowMount(mount, "role", name);
  const loaded = useLoad(path, () => api.read<{ readonly role_id: string }>(`${path}/role-id`));
  const roleId = loaded.value?.role_id ?? "";
  const place = { address, mount, role: name };
  const needsSecretId = role.bind_secret_id !== false;
  const text =
    client === "command" ? loginCommands(place, roleId, needsSecretId) : agentCommands(place, roleId, needsSecretId);
  return (
    <Card title="How a client logs in" of={loaded} body>
      {roleId !== "" && (
        <>
          <div class="field">
            <span class="label">Role-id</span>
            <Copy value={roleId} label="Role-id" />
            <span class="hint">It is not a secret.</span>
          </div>
          <Segments legend="For" options={CLIENTS} value={client} onChange={setClient} />
          <Copy value={text} label={CLIENTS.find(([one]) => one === client)?.[1] ?? ""} />
        </>
      )}
    </Card>
  );
}
