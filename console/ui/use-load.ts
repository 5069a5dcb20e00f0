import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Answer, Problem } from "../result.ts";

/** Loaded data. The previous value stays while a new one is loading. */
export interface Loaded<T> {
  readonly value: T | null;
  readonly problem: Problem | null;
  readonly busy: boolean;
  reload(): void;
  /** Shows a value that this page has written, until the next answer. */
  replace(value: T): void;
}

/**
 * Loads whenever `key` changes. Answers to earlier requests are ignored.
 *
 * @param key everything that the request depends on
 */
export function useLoad<T>(key: string, ask: () => Promise<Answer<T>>): Loaded<T> {
  const [state, setState] = useState<{ key: string; value: T | null; problem: Problem | null; busy: boolean }>({
    key,
    value: null,
    problem: null,
    busy: true,
  });
  const latest = useRef(0);
  const question = useRef(ask);
  question.current = ask;
  const load = useCallback((asked: string) => {
    latest.current += 1;
    const turn = latest.current;
    setState((before) => ({ ...before, busy: true }));
    question.current().then((answer) => {
      if (turn !== latest.current) return;
      setState((before) => ({
        key: asked,
        value: answer.ok ? answer.value : before.key === asked ? before.value : null,
        problem: answer.ok ? null : answer.problem,
        busy: false,
      }));
    });
  }, []);
  useEffect(() => load(key), [key, load]);
  useEffect(
    () => () => {
      latest.current += 1;
    },
    [],
  );
  const reload = useCallback(() => load(key), [key, load]);
  const replace = useCallback((value: T) => setState((before) => ({ ...before, value, problem: null })), []);
  return { value: state.value, problem: state.problem, busy: state.busy, reload, replace };
}

/** Calls `act` every `everyMs` while `isOn`. */
export function usePolling(isOn: boolean, act: () => void, everyMs: number): void {
  useEffect(() => {
    if (!isOn) return;
    const timer = window.setInterval(act, everyMs);
    return () => window.clearInterval(timer);
  }, [isOn, act, everyMs]);
}
