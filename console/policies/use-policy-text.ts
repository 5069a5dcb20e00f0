import { useState } from "preact/hooks";
import type { StoredPolicy } from "../../client/answers.d.ts";
import { dropUnsaved, keepUnsaved, readUnsaved, type Unsaved } from "../unsaved-policy.ts";

interface PolicyText {
  readonly typed: string;
  /** The version that the text is based on, and may replace. */
  readonly seen: number;
  /** True for an unsaved text of an earlier visit in this tab, until it is changed. */
  readonly isKept: boolean;
  type(text: string): void;
  /** Replaces the typed text with the stored one. */
  take(): void;
  /** Bases the typed text on the stored version. */
  keepMine(): void;
  /** Records that the typed text was saved as the next version. */
  noteSaved(): void;
}

/**
 * The text of a policy while it is edited. Unsaved text is kept by the tab. A newer version from the server replaces the text
 * only if it was not changed.
 *
 * @param key the name of the policy; "" for a new one
 */
export function usePolicyText(key: string, stored: StoredPolicy): PolicyText {
  const [state, setState] = useState<Unsaved & { readonly over: string; readonly isKept: boolean }>(() => {
    const kept = readUnsaved(key);
    const isKept = kept !== null && kept.text !== stored.policy;
    return { ...(isKept ? kept : { text: stored.policy, version: stored.version }), over: stored.policy, isKept };
  });
  const { text, version, over } = state;
  const set = (next: Unsaved, isKept = false): void => {
    setState({ ...next, over: stored.policy, isKept });
    if (next.text === stored.policy) dropUnsaved(key);
    else keepUnsaved(key, next);
  };
  const isUntouched = text === over || text === stored.policy;
  if (isUntouched && stored.version > version) {
    setState({ text: stored.policy, version: stored.version, over: stored.policy, isKept: false });
  }
  return {
    typed: text,
    seen: version,
    isKept: state.isKept,
    type: (typed) => set({ text: typed, version }),
    take: () => set({ text: stored.policy, version: stored.version }),
    keepMine: () => set({ text, version: stored.version }),
    noteSaved: () => {
      dropUnsaved(key);
      setState({ text, version: version + 1, over: text, isKept: false });
    },
  };
}
