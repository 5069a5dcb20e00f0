import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ASKED_PATHS } from "../asked-paths.ts";
import { idIn } from "../audit/request-id.ts";
import { href } from "../href.ts";
import { go } from "../router.ts";
import { countTokens, tokenIn } from "../secret-detection.ts";
import { mayDo, useSession } from "../session.ts";
import { accessorIn } from "../tokens/token-accessor.ts";
import { Icon } from "../ui/index.ts";
import { foundText } from "./found-text.ts";
import { type Found, KINDS } from "./search-result.ts";
import { useSearch } from "./use-search.ts";

/** A search for everything that has a page. The arrow keys select a result, Enter opens it. */
function Palette({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [isPasted, setIsPasted] = useState(false);
  const [chosen, setChosen] = useState(0);
  /** True after Enter, until the answer for the typed text is there. */
  const [waits, setWaits] = useState(false);
  const session = useSession();
  const id = useId();
  const text = accessorIn(idIn(tokenIn(typed.trim())));
  const tokens = countTokens(typed);
  const { found, refusal, note, cut, busy } = useSearch(text, isPasted);
  const results = KINDS.flatMap((kind) => found.filter((one) => one.kind === kind));
  const at = Math.min(chosen, results.length - 1);
  // Before the next key: an effect would open it after the next picture, and what is typed until then would be lost.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  useEffect(() => {
    dialog.current?.querySelector("[aria-selected='true']")?.scrollIntoView({ block: "nearest" });
  }, [at]);

  const open = (result: Found | undefined): void => {
    if (!result) return;
    onClose();
    go(result.href);
    document.getElementById("main")?.focus();
    window.scrollTo(0, 0);
  };
  useEffect(() => {
    if (!waits || busy) return;
    setWaits(false);
    open(results[at]);
  }, [waits, busy]);
  const onKey = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    if (step !== undefined && results.length > 0) {
      event.preventDefault();
      setChosen((at + step + results.length) % results.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      // Until the answer is there, the list is that of an earlier text.
      if (busy) setWaits(true);
      else open(results[at]);
    } else if (event.key === "Escape") {
      // By default, Escape would only clear the field.
      event.preventDefault();
      onClose();
    }
  };
  const groups = KINDS.map((kind) => ({ kind, of: results.filter((one) => one.kind === kind) })).filter(
    ({ of }) => of.length > 0,
  );
  const optionId = (result: Found): string => `${id}-${results.indexOf(result)}`;
  const selected = results[at];
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Search"
      onCancel={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div>
        <input
          {...COMBOBOX}
          {...{ "aria-expanded": results.length > 0, "aria-activedescendant": selected && optionId(selected) }}
          aria-controls={`${id}-list`}
          placeholder="Any leaked text, accessor, lease, request id, entity, role, policy, method"
          value={typed}
          autocomplete="off"
          spellcheck={false}
          autofocus
          onPaste={() => setIsPasted(true)}
          onInput={(event) => {
            if (event.inputType !== "insertFromPaste") setIsPasted(false);
            setTyped(event.currentTarget.value);
            setChosen(0);
            setWaits(false);
          }}
          onKeyDown={onKey}
        />
        <div class="palette-list" role="listbox" id={`${id}-list`} aria-label="Results">
          {groups.map(({ kind, of }) => (
            // biome-ignore lint/a11y/useSemanticElements: a fieldset is no group of options
            <div key={kind} role="group" aria-labelledby={`${id}-${kind}`}>
              <div class="palette-kind" id={`${id}-${kind}`}>
                {kind}
              </div>
              {of.map((result) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the combobox
                // biome-ignore lint/a11y/useFocusableInteractive: the combobox keeps the focus
                <div
                  key={result.href}
                  role="option"
                  id={optionId(result)}
                  aria-selected={result === selected}
                  onClick={() => open(result)}
                >
                  <span class="break">{result.name}</span>
                  <span class="muted small break">{result.detail}</span>
                </div>
              ))}
            </div>
          ))}
        </div>
        <p class="palette-foot small muted" aria-live="polite">
          {!busy && tokens > 1 && `The first of ${tokens} tokens in this text: paste the others by themselves. `}
          {busy ? "Searching…" : note || foundText(found, text, refusal, cut)}
          {!busy && text !== "" && found.length === 0 && mayDo(session, ASKED_PATHS.ended, "read", "sudo") && (
            <>
              {" "}
              <a href={href(["ended"])} onClick={onClose}>
                Ended lately
              </a>
            </>
          )}
        </p>
      </div>
    </dialog>
  );
}

const COMBOBOX = {
  type: "search",
  role: "combobox",
  "aria-label": "Search",
  "aria-autocomplete": "list",
  list: undefined,
} as const;

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** The button that opens the search, as Ctrl-K and ⌘K do on every page. */
export function SearchButton() {
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey)
        return;
      event.preventDefault();
      // Not over another open dialog.
      if (!document.querySelector("dialog[open]:not(.palette)")) setIsOpen((before) => !before);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <button type="button" class="button search-button" aria-keyshortcuts="Control+K" onClick={() => setIsOpen(true)}>
        <Icon name="search" /> Search{" "}
        <span class="keys" aria-hidden="true">
          Ctrl K
        </span>
      </button>
      {isOpen && <Palette onClose={() => setIsOpen(false)} />}
    </>
  );
}
