import { useState } from "preact/hooks";
import type { Query } from "../api.ts";
import { useSession } from "../session.ts";
import type { Preview } from "../tokens/revocation-preview.ts";
import { MOST_NAMED } from "../tokens/selection.ts";
import { readTokens } from "../tokens/token-api.ts";
import { type CountedBefore, NOT_COUNTED } from "./counted-before.ts";

/** What was counted before the tokens of a selection end, and the function that notes the count. */
export function useCountedBefore(selection: Query): readonly [CountedBefore, (preview: Preview) => void] {
  const { api } = useSession();
  const [counted, setCounted] = useState(NOT_COUNTED);
  const note = async (preview: Preview): Promise<void> => {
    // Without waiting for the accessors: the user may confirm before they are read.
    setCounted({ ...NOT_COUNTED, preview });
    const listed = await readTokens(api, selection, MOST_NAMED);
    if (listed.ok) setCounted({ preview, accessors: listed.value.tokens.map(({ accessor }) => accessor) });
  };
  return [counted, note];
}
