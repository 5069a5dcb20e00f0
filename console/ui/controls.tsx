import { type ComponentChildren, cloneElement, type VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon } from "./icons.tsx";

interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly wrong?: string;
  /** One input, select or textarea. */
  readonly children: VNode<Record<string, unknown>>;
}

/** An input with its label, a hint, and what is wrong with its value. */
export function Field({ label, hint, wrong, children }: FieldProps) {
  const id = useId();
  const described = wrong ? `${id}-wrong` : hint ? `${id}-hint` : undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {cloneElement(children, { id, "aria-describedby": described, "aria-invalid": wrong ? "true" : undefined })}
      {hint && !wrong && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {wrong && (
        <span class="wrong" id={`${id}-wrong`}>
          {wrong}
        </span>
      )}
    </div>
  );
}

interface SegmentsProps<T extends string> {
  readonly legend: string;
  readonly options: readonly (readonly [value: T, label: string])[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

/** One of a few choices, all in view. */
export function Segments<T extends string>({ legend, options, value, onChange }: SegmentsProps<T>) {
  const name = useId();
  return (
    <div class="segments" role="radiogroup" aria-label={legend}>
      {options.map(([option, label]) => (
        <label key={option}>
          <input type="radio" name={name} checked={option === value} onChange={() => onChange(option)} />
          {label}
        </label>
      ))}
    </div>
  );
}

/** A value to take away: shown whole, with a button that copies it. */
export function Copy({ value, label }: { readonly value: string; readonly label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    // Without the right to the clipboard the text is still there to be selected.
    const worked = await navigator.clipboard?.writeText(value).then(
      () => true,
      () => false,
    );
    setCopied(worked === true);
  };
  return (
    <div class="copy">
      <output aria-label={label}>{value}</output>
      <button type="button" class="button" onClick={copy}>
        <Icon name={copied ? "check" : "copy"} />
        <span aria-live="polite">{copied ? "Copied" : "Copy"}</span>
      </button>
    </div>
  );
}

interface DialogProps {
  readonly title: string;
  onClose(): void;
  readonly children: ComponentChildren;
}

/** A dialog over the page; Escape and a click beside it close it, and the browser takes the focus back to where it was. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={element}
      aria-labelledby={id}
      onCancel={onClose}
      onClick={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div>
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** What a page shows instead of nothing. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Names as small labels, the first few of many. */
export function Tags({ names, most = 6 }: { readonly names: readonly string[]; readonly most?: number }) {
  if (names.length === 0) return <span class="muted">none</span>;
  return (
    <span class="tags">
      {names.slice(0, most).map((name) => (
        <span key={name} class={`tag${name === "root" ? " bad" : ""}`} title={name}>
          {name}
        </span>
      ))}
      {names.length > most && (
        <span class="tag" title={names.slice(most).join(", ")}>
          +{names.length - most}
        </span>
      )}
    </span>
  );
}
