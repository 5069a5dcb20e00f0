import { type ComponentChildren, cloneElement, type VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { shortAccessor } from "../format.ts";
import { Icon } from "./icons.tsx";
import { useArrivalFocus } from "./use-arrival-focus.ts";

interface FieldProps {
  readonly label: string;
  /** The name of the field in the API. */
  readonly name?: string | undefined;
  readonly hint?: string | undefined;
  readonly wrong?: string;
  /** One input, select or textarea. */
  readonly children: VNode<Record<string, unknown>>;
}

/** An input with its label, a hint, and its error. */
export function Field({ label, name, hint, wrong, children }: FieldProps) {
  const id = useId();
  const described = wrong ? `${id}-wrong` : hint ? `${id}-hint` : undefined;
  return (
    <div class="field">
      {name === undefined ? (
        <label for={id}>{label}</label>
      ) : (
        <div class="named">
          <label for={id}>{label}</label>
          <code>{name}</code>
        </div>
      )}
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

interface TextInputProps {
  readonly value: string;
  readonly onText: (text: string) => void;
  readonly placeholder?: string;
  readonly required?: boolean;
  /** True to focus it when its dialog opens, or when it appears in an open dialog. */
  readonly autofocus?: boolean;
  readonly inputMode?: "numeric";
}

/** A text input without the browser's completion and correction. */
export function TextInput({ onText, ...more }: TextInputProps) {
  const field = useArrivalFocus(more.autofocus === true);
  return (
    <input
      ref={field}
      autocomplete="off"
      spellcheck={false}
      {...more}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

/** An input for a pasted secret, which is not shown. */
export function SecretInput({ onText, ...more }: Pick<TextInputProps, "value" | "onText" | "required">) {
  return (
    <input
      type="password"
      autocomplete="off"
      spellcheck={false}
      {...more}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

interface SegmentsProps<T extends string> {
  readonly legend: string;
  readonly options: readonly (readonly [value: T, label: string])[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

/** A choice between a few options that are all visible. */
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

/** Copies a text. The second value is true after a successful copy. */
function useCopy(value: string): readonly [copy: () => Promise<void>, copied: boolean] {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    // Without access to the clipboard the user can still select the text.
    const worked = await navigator.clipboard?.writeText(value).then(
      () => true,
      () => false,
    );
    setCopied(worked === true);
  };
  return [copy, copied];
}

/** A small button that copies the value beside it. */
export function CopyButton({ value, label }: { readonly value: string; readonly label: string }) {
  const [copy, copied] = useCopy(value);
  return (
    <button type="button" class="copy-button" aria-label={copied ? "Copied" : label} title="Copy" onClick={copy}>
      <Icon name={copied ? "check" : "copy"} size={13} />
    </button>
  );
}

/** A whole value with a button that copies it. */
export function Copy({ value, label }: { readonly value: string; readonly label: string }) {
  const [copy, copied] = useCopy(value);
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

/** A modal dialog. Escape or a click outside closes it, and the browser restores the focus. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      // The parent decides whether it closes. The browser would close it at once, or at a second Escape.
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        onClose();
      }}
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

/** The message of an empty list. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface TagsProps {
  readonly names: readonly string[];
  readonly most?: number;
  /** The address of a name; undefined without one. */
  readonly hrefOf?: (name: string) => string | undefined;
}

/** Names as small labels, the first few of many. */
export function Tags({ names, most = 6, hrefOf = () => undefined }: TagsProps) {
  if (names.length === 0) return <span class="muted">none</span>;
  return (
    <span class="tags">
      {names.slice(0, most).map((name) => (
        <Tag key={name} name={name} href={hrefOf(name)} />
      ))}
      {names.length > most && (
        <span class="tag rest" title={names.slice(most).join(", ")}>
          +{names.length - most}
        </span>
      )}
    </span>
  );
}

function Tag({ name, href }: { readonly name: string; readonly href: string | undefined }) {
  const look = `tag${name === "root" ? " bad" : ""}`;
  if (href === undefined) {
    return (
      <span class={look} title={name}>
        {name}
      </span>
    );
  }
  return (
    <a class={look} href={href} title={name}>
      {name}
    </a>
  );
}

interface AccessorProps {
  readonly value: string;
  /** True to show all of it. */
  readonly whole?: boolean;
}

/** An accessor with a button that copies it. The short form shows its end, because accessors of one tree begin alike. */
export function Accessor({ value, whole = false }: AccessorProps) {
  return (
    <span class="accessor">
      <code class={whole ? "break" : "muted"} title={value}>
        {whole ? value : shortAccessor(value)}
      </code>
      <CopyButton value={value} label={`Copy the accessor ${shortAccessor(value)}`} />
    </span>
  );
}
