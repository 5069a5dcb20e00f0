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

/** Before the revocation of a wrapping token: what it holds lives on, and can be ended with it if it is a token. */
export function InsideNotice({ inside, isEndedToo, onChange }: InsideNoticeProps) {
  if (!isTokenAccessor(inside)) {
    return (
      <Notice tone="warn" title="What is inside stays">
        Nobody can take it out any more, but a token or secret-id that is inside lives on
        {inside === "" ? "" : `: the secret-id with the accessor ${inside}`}.
      </Notice>
    );
  }
  return (
    <Notice tone="warn" title="The token inside stays">
      <p>
        <ParentLink parent={inside} /> is not below this token: it lives on, although nobody can take it out any more.
      </p>
      <Agreement checked={isEndedToo} onChange={onChange}>
        Revoke the token inside too, with all below
      </Agreement>
    </Notice>
  );
}

/** In the receipt of one token: the token that it held, if it was a wrapping token and that token is alive. */
export function LeftInside({ accessor }: { readonly accessor: string }) {
  const { api } = useSession();
  const { value } = useLoad(accessor, () => leftOf(api, accessor));
  if (!value) return null;
  return (
    <Notice tone="warn" title="The token inside is alive">
      It was a wrapping token, and what it held is not below it: <ParentLink parent={value.accessor} /> can be revoked
      on its page.
    </Notice>
  );
}
