import { href } from "../href.ts";
import { AppRoleAccess } from "../methods/app-role-access.tsx";
import { belowMount } from "../methods/mount-paths.ts";
import { NewSecretId } from "../methods/new-secret-id.tsx";
import type { RecordValue } from "../records/field.ts";
import { useSession } from "../session.ts";
import { Card, useLoad } from "../ui/index.ts";
import type { PresetPlace } from "./preset.ts";

interface FirstSecretIdProps {
  readonly place: PresetPlace;
  readonly onMade: (accessor: string) => void;
}

/** The role-id of a new role, and a button for its first secret-id. */
export function FirstSecretId({ place: { address, mount, role }, onMade }: FirstSecretIdProps) {
  const { api } = useSession();
  const path = belowMount(mount, "role", role);
  const record = useLoad(path, () => api.read<RecordValue>(path));
  return (
    <>
      {record.value && <AppRoleAccess mount={mount} name={role} role={record.value} address={address} />}
      <Card title="A first secret-id" of={record} body>
        {record.value && (
          <>
            <p>
              Deliver it to the machine. It is wrapped by default. The page of the role lists all secret-ids, and makes
              others.
            </p>
            <div class="actions">
              <NewSecretId
                path={`${path}/secret-id`}
                role={record.value}
                look="button primary"
                label="Make a secret-id…"
                onMade={onMade}
              />
              <a class="button" href={href(["methods", mount], { part: "roles", name: role })}>
                The role's page
              </a>
            </div>
          </>
        )}
      </Card>
    </>
  );
}
