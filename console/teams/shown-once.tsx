import { Copy, Dialog } from "../ui/controls.tsx";
import { Notice } from "../ui/notice.tsx";

/** The secret of a new token of a team, which is shown once. */
export function ShownOnce({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <Dialog title="Token made" onClose={onClose}>
      <Notice tone="warn" title="Shown once">
        It is kept nowhere: copy it now.
      </Notice>
      <Copy value={secret} label="Token" />
      <div class="actions">
        <button type="button" class="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
