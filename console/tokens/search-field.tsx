import { useState } from "preact/hooks";
import { go } from "../router.ts";
import { textItself } from "../search/find-tokens.ts";
import { isSecretLike } from "../secret-like.ts";
import { useSession } from "../session.ts";
import { Field, useDraft } from "../ui/index.ts";
import { MIN_SEARCH } from "./filter.ts";

interface SearchFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The search of the inventory. A pasted token is sent in a body and leads to its page; no address has it. */
export function SearchField({ value, onChange }: SearchFieldProps) {
  const { api } = useSession();
  const [typed, change] = useDraft(value);
  const [wrong, setWrong] = useState("");
  const send = async (isPasted: boolean, given: string): Promise<void> => {
    const text = given.trim();
    setWrong("");
    if (text === value) return;
    if (isSecretLike(text) || (isPasted && text !== "" && !/\s/.test(text))) {
      const itself = await textItself(api, text);
      const [found] = itself.found;
      if (found) return go(found.href);
      if (isSecretLike(text)) return setWrong(itself.note);
    }
    if (text !== "" && [...text].length < MIN_SEARCH) return setWrong(`${MIN_SEARCH} characters at least`);
    onChange(text);
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
        }}
        onChange={() => send(false, typed)}
        onKeyDown={(event) => {
          if (event.key === "Enter") send(false, typed);
        }}
      />
    </Field>
  );
}
