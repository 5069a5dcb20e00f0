import { useState } from "preact/hooks";
import { Copy, Dialog, Notice } from "../ui/index.ts";

/** The secret of a new team token, which is shown once: Escape and a click beside the dialog ask before it closes. */
export function ShownOnce({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  const [leaving, setLeaving] = useState(false);
  return (
    <Dialog title="Token made" onClose={() => setLeaving(true)}>
      <Notice tone="warn" title={leaving ? "Have you copied it?" : "Shown once"}>
        {leaving ? "After this is closed it can't be shown again." : "It is kept nowhere: copy it now."}
      </Notice>
      <Copy value={secret} label="Token" />
      <div class="actions">
        <button type="button" class="button primary" onClick={onClose}>
          {leaving ? "Yes, close" : "Done"}
        </button>
      </div>
    </Dialog>
  );
}
