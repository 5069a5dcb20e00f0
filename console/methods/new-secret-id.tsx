import { useState } from "preact/hooks";
import type { Envelope } from "../api.ts";
import { duration } from "../format.ts";
import { needsOf } from "../needed-capabilities.ts";
import type { RecordValue } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { unwrapCommands } from "../records/request-commands.ts";
import { AllowedButton, Copy, Dialog, SecretDialog } from "../ui/index.ts";
import { newSecretIdForm, newSecretIdRequest } from "./secret-id.ts";

/** A new secret-id. Only the answer to its creation shows it. */
interface MadeSecretId {
  readonly secret_id: string;
  readonly secret_id_accessor: string;
}

interface NewSecretIdProps {
  /** The endpoint of the secret-ids of the role. */
  readonly path: string;
  readonly role: RecordValue;
  /** Classes of the button. */
  readonly look?: string;
  readonly label: string;
  readonly onMade?: (accessor: string) => void;
}

/** A button that makes a secret-id, and shows it once, or its wrapping token. */
export function NewSecretId({ path, role, look = "button slim", label, onMade }: NewSecretIdProps) {
  const [asking, setAsking] = useState(false);
  const [made, setMade] = useState<Envelope<MadeSecretId | null> | null>(null);
  return (
    <>
      <AllowedButton look={look} needs={needsOf(path)} onClick={() => setAsking(true)}>
        {label}
      </AllowedButton>
      {asking && (
        <Dialog title="New secret-id" onClose={() => setAsking(false)}>
          <RecordForm
            groups={newSecretIdForm(role)}
            record={null}
            action="Make the secret-id"
            request={(values) => newSecretIdRequest(path, values)}
            onCancel={() => setAsking(false)}
            onSaved={(_, __, answer: Envelope<MadeSecretId | null>) => {
              setAsking(false);
              setMade(answer);
              onMade?.(accessorOf(answer));
            }}
          />
        </Dialog>
      )}
      {made && <Shown made={made} onClose={() => setMade(null)} />}
    </>
  );
}

/** The accessor of a new secret-id, wrapped or not. */
const accessorOf = ({ data, wrap_info: wrapped }: Envelope<MadeSecretId | null>): string =>
  wrapped?.wrapped_accessor ?? data?.secret_id_accessor ?? "";

function Shown({ made, onClose }: { readonly made: Envelope<MadeSecretId | null>; readonly onClose: () => void }) {
  const { data, wrap_info: wrapped } = made;
  const accessor = accessorOf(made);
  const title = wrapped ? "Wrapped secret-id made" : "Secret-id made";
  const label = wrapped ? "Wrapping token" : "Secret-id";
  return (
    <SecretDialog title={title} label={label} secret={wrapped?.token ?? data?.secret_id ?? ""} onClose={onClose}>
      {wrapped && (
        <>
          <p class="muted">It works once, within {duration(wrapped.ttl)}. To unwrap it:</p>
          <Copy value={unwrapCommands(window.location.origin, wrapped.token, "secret_id")} label="Commands" />
        </>
      )}
      <p class="muted">The accessor is not a secret. It identifies the secret-id in the list.</p>
      <Copy value={accessor} label="Accessor" />
    </SecretDialog>
  );
}
