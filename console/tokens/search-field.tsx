import { useEffect, useRef, useState } from "preact/hooks";
import { go } from "../router.ts";
import { textItself } from "../search/find-tokens.ts";
import { isSecretLike, tokenIn } from "../secret-like.ts";
import { useSession } from "../session.ts";
import { Field, useDraft } from "../ui/index.ts";
import { MIN_SEARCH } from "./filter.ts";

/** Pause of the typing (ms) after which the list is searched. */
const PAUSE_MS = 400;

interface SearchFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The search of the inventory. A pasted token is sent in a body and leads to its page; no address has it. */
export function SearchField({ value, onChange }: SearchFieldProps) {
  const { api } = useSession();
  const [typed, change] = useDraft(value);
  const [wrong, setWrong] = useState("");
  const timer = useRef(0);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const send = async (isPasted: boolean, given: string): Promise<void> => {
    const text = tokenIn(given.trim());
    window.clearTimeout(timer.current);
    setWrong("");
    if (text === value) return;
    if (isSecretLike(text) || (isPasted && text !== "" && !/\s/.test(text))) {
      const itself = await textItself(api, text);
      const [found] = itself.found;
      if (found) return go(found.href);
      if (isSecretLike(text) || itself.isKnown) return setWrong(itself.note);
    }
    if (text !== "" && [...text].length < MIN_SEARCH) return setWrong(`${MIN_SEARCH} characters at least`);
    onChange(text);
  };
  /** While somebody types nothing is wrong yet. */
  const sendSoon = (text: string): void => {
    window.clearTimeout(timer.current);
    const isWhole = text.trim() === "" || [...text.trim()].length >= MIN_SEARCH;
    if (isWhole && !isSecretLike(text.trim())) timer.current = window.setTimeout(() => send(false, text), PAUSE_MS);
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
          if (inputType === "insertFromPaste") send(true, now);
          else sendSoon(now);
        }}
        onChange={() => send(false, typed)}
        onKeyDown={(event) => {
          if (event.key === "Enter") send(false, typed);
        }}
      />
    </Field>
  );
}
