import { useEffect, useRef } from "preact/hooks";
import { isDue, type Lifetime } from "./renewal.ts";

/** Shortest time between two attempts to renew (ms). */
const RETRY_MS = 30_000;
/** Events that count as a use of the page. */
const USES = ["pointerdown", "keydown", "scroll"] as const;

/** Renews the session when the page is used in the second half of its lifetime. Without a use the session ends. */
export function useRenewal(lifetime: Lifetime | null, renew: () => Promise<unknown>): void {
  const latest = useRef({ lifetime, renew });
  latest.current = { lifetime, renew };
  const tried = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const onUse = (): void => {
      const now = Date.now();
      const { lifetime: current, renew: act } = latest.current;
      if (!current || !isDue(current, now) || now < tried.current + RETRY_MS) return;
      tried.current = now;
      void act();
    };
    for (const use of USES) document.addEventListener(use, onUse, { capture: true, passive: true });
    return () => {
      for (const use of USES) document.removeEventListener(use, onUse, { capture: true });
    };
  }, []);
}
