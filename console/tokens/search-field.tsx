import { useEffect, useRef, useState } from "preact/hooks";
import { go } from "../router.ts";
import { textItself } from "../search/find-tokens.ts";
import { isUnknownId, UNKNOWN_ID } from "../search/secret-in-address.ts";
import { NOTHING } from "../search/text-result.ts";
import { mayBeToken, tokenIn } from "../secret-detection.ts";
import { useSession } from "../session.ts";
import { Field, useDraft } from "../ui/index.ts";
import { MIN_SEARCH, searchMistake } from "./filter.ts";
import { accessorIn } from "./token-accessor.ts";

/** Pause in typing after which the list is searched (ms). */
const PAUSE_MS = 400;

interface SearchFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/**
 * The search of the inventory. A text that may be a token is first sent in a body: a token leads to its page, and is
 * never in a URL.
 */
export function SearchField({ value, onChange }: SearchFieldProps) {
  const session = useSession();
  const [typed, change] = useDraft(value);
  const [wrong, setWrong] = useState("");
  const timer = useRef(0);
  /** The text that the server is being asked about. An answer for an older text is ignored. */
  const asked = useRef("");
  const leave = (): void => {
    window.clearTimeout(timer.current);
    asked.current = "";
  };
  useEffect(() => leave, []);
  const send = async (given: string): Promise<void> => {
    const text = accessorIn(tokenIn(given.trim()));
    window.clearTimeout(timer.current);
    // Both Enter and the loss of the focus submit the text.
    if (text === value || (text !== "" && text === asked.current)) return;
    setWrong("");
    asked.current = text;
    const mistake = text === "" ? "" : searchMistake(text);
    if (mistake !== "" && text.length < MIN_SEARCH) return setWrong(mistake);
    const itself = mayBeToken(text) ? await textItself(session, text) : NOTHING;
    const isUnknown = await isUnknownId(session, text);
    if (asked.current !== text) return;
    asked.current = "";
    const [found] = itself.found;
    if (found) return go(found.href);
    if (itself.isKept) return setWrong(itself.note);
    if (isUnknown) return setWrong(UNKNOWN_ID);
    // A long text may be a token, so it is asked about before.
    if (mistake !== "") return setWrong(mistake);
    onChange(text);
  };
  /** While the user types, a short text is no mistake yet. */
  const sendSoon = (text: string): void => {
    leave();
    const isWhole = text.trim() === "" || [...text.trim()].length >= MIN_SEARCH;
    if (isWhole) timer.current = window.setTimeout(() => send(text), PAUSE_MS);
  };
  return (
    <Field label="Search" wrong={wrong}>
      <input
        type="search"
        value={typed}
        placeholder="Part of a name, owner, role, alias, path or accessor"
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget, inputType }) => {
          const { value: now } = currentTarget;
          change(() => now);
          if (inputType === "insertFromPaste") send(now);
          else sendSoon(now);
        }}
        onChange={() => send(typed)}
        onKeyDown={(event) => {
          if (event.key === "Enter") send(typed);
        }}
      />
    </Field>
  );
}
