import { useEffect } from "preact/hooks";
import { href } from "../href.ts";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { Loading, useLoad } from "../ui/index.ts";
import { NotStored } from "./not-stored.tsx";
import { requestsBeginning } from "./read-events.ts";
import { useEarlyLooks } from "./use-early-looks.ts";

/**
 * Looks for the request with an id, and opens its page once it is found. Until then no URL may have the id, which may be
 * a secret-id.
 */
export function UnknownRequest({ id }: { readonly id: string }) {
  const session = useSession();
  const found = useLoad(`unknown request ${id}`, () => requestsBeginning(session, id));
  const [known] = found.value ?? [];
  const isEarly = useEarlyLooks(found, known !== undefined);
  useEffect(() => {
    if (known !== undefined) go(href(["requests", known]));
  }, [known]);
  const isOff = found.problem?.status === 400;
  if (known !== undefined) return null;
  return (
    <>
      {!isOff && <Loading of={found} />}
      {(found.value || isOff) && (
        <NotStored id={id} why={found.problem?.messages.join(" ") ?? ""} isEarly={isEarly} onAgain={found.reload} />
      )}
    </>
  );
}
