import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer, Problem } from "../result.ts";
import type { Progress } from "./whole-receipt.ts";

export interface PageReading {
  /** Tokens that have been read; null while not reading. */
  readonly read: number | null;
  readonly problem: Problem | null;
  start(): void;
}

/** Reads many pages, from `start` until the end or until the user leaves the page. */
export function useAllPages<T>(
  walk: (progress: Progress) => Promise<Answer<T>>,
  onDone: (value: T) => void,
): PageReading {
  const [read, setRead] = useState<number | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const isShown = useRef(true);
  useEffect(
    () => () => {
      isShown.current = false;
    },
    [],
  );
  const start = async (): Promise<void> => {
    if (read !== null) return;
    setRead(0);
    const answer = await walk((now) => {
      if (isShown.current) setRead(now);
      return isShown.current;
    });
    if (!isShown.current) return;
    setRead(null);
    setProblem(answer.ok ? null : answer.problem);
    if (answer.ok) onDone(answer.value);
  };
  return { read, problem, start };
}
