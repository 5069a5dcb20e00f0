import { useEffect, useState } from "preact/hooks";
import type { PolicyExplanation } from "../../client/answers.d.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import type { Problem } from "../result.ts";
import { mayDo, useSession } from "../session.ts";

/** Pause in typing before the server is asked (ms). */
const PAUSE_MS = 400;

/** Capabilities by path. */
export type GrantedBy = Readonly<Record<string, readonly string[]>>;

export interface PolicyCheck {
  /** False when the token may not ask: then only a save reports mistakes. */
  readonly isAsked: boolean;
  /** The mistake in the text; null without one, and while it is not known. */
  readonly problem: Problem | null;
  /** True when `problem` is of this text, and not of an earlier one whose place is still shown. */
  readonly isRefused: boolean;
  /** What the text grants on the paths; null while that is not known. */
  readonly granted: GrantedBy | null;
  /** The paths of the text that no endpoint of Grove has. */
  readonly unserved: PolicyExplanation["unserved"];
}

const UNKNOWN = { of: "", problem: null, granted: null, unserved: [] };

/**
 * Has the server parse a policy that is being typed, without storing it. The server has the only parser, so that the
 * editor accepts exactly what a save accepts.
 *
 * @param text null: nothing is asked
 * @param paths at least one
 */
export function usePolicyCheck(text: string | null, paths: readonly string[]): PolicyCheck {
  const session = useSession();
  const { api } = session;
  const isAsked = mayDo(session, ASKED_PATHS.checkPolicy, "create or update");
  const [known, setKnown] = useState<Pick<PolicyCheck, "problem" | "granted" | "unserved"> & { readonly of: string }>(
    UNKNOWN,
  );
  const asked = isAsked && text !== null && text.trim() !== "" ? text : "";
  useEffect(() => {
    if (asked === "") return setKnown(UNKNOWN);
    let isOld = false;
    const ask = async (): Promise<void> => {
      const [answer, explained] = await Promise.all([
        api.call<GrantedBy>(ASKED_PATHS.checkPolicy, { body: { paths, policy: asked } }),
        api.call<PolicyExplanation>("sys/explain/policy", { body: { policy: asked } }),
      ]);
      if (isOld) return;
      // Any other failure says nothing about the text.
      const problem = !answer.ok && answer.problem.status === 400 ? answer.problem : null;
      setKnown({
        of: asked,
        problem,
        granted: answer.ok ? answer.value.data : null,
        unserved: explained.ok ? explained.value.data.unserved : [],
      });
    };
    const timer = window.setTimeout(ask, PAUSE_MS);
    return () => {
      isOld = true;
      window.clearTimeout(timer);
    };
  }, [api, asked]);
  // The last mistake stays until the next answer, so that the page does not jump at each key.
  const isOfText = known.of === asked;
  const problem = asked === "" ? null : known.problem;
  const unserved = isOfText ? known.unserved : [];
  return {
    isAsked,
    unserved,
    problem,
    isRefused: isOfText && problem !== null,
    granted: isOfText ? known.granted : null,
  };
}
