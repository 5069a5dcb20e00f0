import type { ComponentChildren } from "preact";
import { Copy, Field, SecretInput, TextInput } from "../ui/index.ts";
import type { Preset, PresetValues } from "./preset.ts";
import { isOwnMachine } from "./preset-values.ts";

interface PresetFormProps {
  readonly preset: Preset;
  readonly values: PresetValues;
  /** Mistakes by the names of the fields. */
  readonly wrong: ReadonlyMap<string, string>;
  /** True after a try to submit: then empty fields are marked too. */
  readonly tried: boolean;
  readonly onValues: (values: PresetValues) => void;
  readonly onSubmit: (event: Event) => void;
  /** The content below the fields: the button and its result. */
  readonly children: ComponentChildren;
}

/** The fields of a preset, the path of its mount, and the address that its clients use. */
export function PresetForm({ preset, values, wrong, tried, onValues, onSubmit, children }: PresetFormProps) {
  const textOf = (name: string): string => values[name] ?? "";
  const set = (name: string) => (value: string) => onValues({ ...values, [name]: value });
  const shownWrong = (name: string): string => (tried || textOf(name) !== "" ? (wrong.get(name) ?? "") : "");
  return (
    <form class="card" aria-label={preset.title} onSubmit={onSubmit} noValidate>
      <div class="body preset-fields">
        {preset.fields.map(({ name, label, hint, isSecret = false }) => {
          const Input = isSecret ? SecretInput : TextInput;
          return (
            <Field key={name} label={label} hint={hint} wrong={shownWrong(name)}>
              <Input value={textOf(name)} onText={set(name)} />
            </Field>
          );
        })}
        <Field label="Path" hint="Below auth/: another one if this is in use." wrong={shownWrong("mount")}>
          <TextInput value={textOf("mount")} onText={set("mount")} />
        </Field>
        <div>
          <Field label="Address of Grove" hint="What clients reach it at." wrong={shownWrong("address")}>
            <TextInput value={textOf("address")} onText={set("address")} />
          </Field>
          {isOwnMachine(textOf("address").trim()) && (
            <p class="small warning" role="status">
              No other machine reaches this one: write the address that clients use, unless they run here.
            </p>
          )}
        </div>
      </div>
      {preset.returnsTo && !wrong.has("mount") && !wrong.has("address") && (
        <section class="body stack tight" aria-label="Where the provider returns to">
          <p>The client at the provider may return to the console and to the command:</p>
          {preset
            .returnsTo({ address: textOf("address").trim(), mount: textOf("mount").trim(), role: "" })
            .map((one) => (
              <Copy key={one} value={one} label="Address" />
            ))}
        </section>
      )}
      <div class="body stack">{children}</div>
    </form>
  );
}
