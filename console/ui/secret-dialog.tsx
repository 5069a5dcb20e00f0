import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Copy, Dialog } from "./controls.tsx";
import { Notice } from "./notice.tsx";

interface SecretDialogProps {
  /** The title of the dialog. */
  readonly title: string;
  /** The label of the secret. */
  readonly label: string;
  readonly secret: string;
  /** What is shown below the secret. */
  readonly children?: ComponentChildren;
  readonly onClose: () => void;
}

/** A dialog with a new secret, which is shown only once. Escape or a click outside asks before it closes. */
export function SecretDialog({ title, label, secret, children, onClose }: SecretDialogProps) {
  const [leaving, setLeaving] = useState(false);
  return (
    <Dialog title={title} onClose={() => setLeaving(true)}>
      <Notice tone="warn" title={leaving ? "Have you copied it?" : "Shown once"}>
        {leaving ? "After this is closed it can't be shown again." : "It is kept nowhere: copy it now."}
      </Notice>
      <Copy value={secret} label={label} />
      {children}
      <div class="actions">
        <button type="button" class="button primary" onClick={onClose}>
          {leaving ? "Yes, close" : "Done"}
        </button>
      </div>
    </Dialog>
  );
}
