import { useEffect } from "preact/hooks";
import { href } from "../href.ts";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { useLoad } from "../ui/index.ts";
import { requestsBeginning } from "./find-requests.ts";
import { MissingEvent } from "./missing-event.tsx";

/**
 * Looks for the request with an id, and opens its page once it is found. The id may be a secret-id, so no URL may contain
 * it until then.
 */
export function UnknownRequest({ id }: { readonly id: string }) {
  const session = useSession();
  const found = useLoad(`unknown request ${id}`, () => requestsBeginning(session, id));
  const [known] = found.value ?? [];
  useEffect(() => {
    if (known !== undefined) go(href(["requests", known]));
  }, [known]);
  return <MissingEvent id={id} found={found} isFound={known !== undefined} />;
}
