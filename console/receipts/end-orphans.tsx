import { useState } from "preact/hooks";
import { ASKED_PATHS } from "../asked-paths.ts";
import { needsOf } from "../needed-capabilities.ts";
import { RevokeMany } from "../tokens/revoke-dialog.tsx";
import { AllowedButton } from "../ui/index.ts";

/** A button that ends orphans after their makers, with a receipt of its own. */
export function EndOrphans({ accessors }: { readonly accessors: readonly string[] }) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <AllowedButton look="button slim danger" needs={needsOf(ASKED_PATHS.revoke)} onClick={() => setAsking(true)}>
        End these too…
      </AllowedButton>
      {asking && (
        <RevokeMany
          selection={{ accessors, include_root: true }}
          text="The orphans that they made"
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}
