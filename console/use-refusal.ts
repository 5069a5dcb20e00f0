import { useEffect, useState } from "preact/hooks";
import { type Needs, refusalOf } from "./needs.ts";
import { useSession } from "./session.ts";

/** Why the policies refuse something; "" where they allow it, where that is not known, or where nothing is needed. */
export function useRefusal(needs: Needs | null): string {
  const { capabilities } = useSession();
  const [, draw] = useState(0);
  const path = needs?.[0];
  useEffect(() => {
    if (path === undefined) return;
    let isShown = true;
    capabilities.ask([path]).then(() => {
      if (isShown) draw((before) => before + 1);
    });
    return () => {
      isShown = false;
    };
  }, [capabilities, path]);
  return needs === null ? "" : refusalOf(needs, capabilities.of(needs[0]));
}
