import { Agreement } from "../presets/unused-notice.tsx";
import { useSession } from "../session.ts";
import { Notice, useLoad } from "../ui/index.ts";
import { leftOf } from "./inside.ts";
import { ParentLink } from "./links.tsx";
import { isTokenAccessor } from "./token-accessor.ts";

interface InsideNoticeProps {
  /** The accessor of what is inside; "" when it is not known. */
  readonly inside: string;
  readonly isEndedToo: boolean;
  readonly onChange: (isEndedToo: boolean) => void;
}

/** Warns that the content of a wrapping token stays valid when that is revoked, and offers to revoke a token inside too. */
export function InsideNotice({ inside, isEndedToo, onChange }: InsideNoticeProps) {
  if (!isTokenAccessor(inside)) {
    return (
      <Notice tone="warn" title="The content stays valid">
        It can no longer be unwrapped, but a token or secret-id inside stays valid
        {inside === "" ? "" : `: the secret-id with the accessor ${inside}`}.
      </Notice>
    );
  }
  return (
    <Notice tone="warn" title="The token inside stays valid">
      <p>
        <ParentLink parent={inside} /> is not a descendant of this token. It can no longer be unwrapped, but stays
        valid.
      </p>
      <Agreement checked={isEndedToo} onChange={onChange}>
        Revoke the token inside too, with all below
      </Agreement>
    </Notice>
  );
}

/** Shows, in the receipt of a wrapping token, the token inside if that is still alive. */
export function LeftInside({ accessor }: { readonly accessor: string }) {
  const { api } = useSession();
  const { value } = useLoad(accessor, () => leftOf(api, accessor));
  if (!value) return null;
  return (
    <Notice tone="warn" title="The token inside is alive">
      The revoked token was a wrapping token. <ParentLink parent={value.accessor} />, the token inside, is not its
      descendant, and can be revoked on its page.
    </Notice>
  );
}
