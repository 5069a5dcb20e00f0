import { useEffect, useState } from "preact/hooks";
import { exact, relative, since } from "../format.ts";

/** The current time (ms), updated every `everyMs`. */
export function useNow(everyMs = 10_000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), everyMs);
    return () => window.clearInterval(timer);
  }, [everyMs]);
  return now;
}

interface TimeProps {
  readonly at: string;
  readonly both?: boolean;
  /**
   * True for a time that may be in the future. Others are shown as past, even if the clocks of server and browser
   * differ.
   */
  readonly mayCome?: boolean;
}

/** A time relative to now. The exact time is shown on hover, and beside it with `both`. */
export function Time({ at, both = false, mayCome = false }: TimeProps) {
  const now = useNow();
  return (
    <time dateTime={at} title={exact(at)}>
      {mayCome ? relative(at, now) : since(at, now)}
      {both && (
        <span class="muted">
          {" "}
          · <span class="whole">{exact(at)}</span>
        </span>
      )}
    </time>
  );
}

/** The end of something; null: never. */
export function End({ at, both = false }: { readonly at: string | null; readonly both?: boolean }) {
  return at === null ? <span class="tag">never</span> : <Time at={at} both={both} mayCome />;
}
