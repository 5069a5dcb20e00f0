import { Field, SecretInput, TextInput } from "../ui/index.ts";
import type { Preset, PresetValues } from "./preset.ts";

interface PresetFormProps {
  readonly preset: Preset;
  readonly values: PresetValues;
  readonly onValues: (values: PresetValues) => void;
}

/** The three things that a preset asks for, and the path of its mount. */
export function PresetForm({ preset, values, onValues }: PresetFormProps) {
  const set = (name: string) => (value: string) => onValues({ ...values, [name]: value });
  return (
    <section class="card" aria-label={preset.title}>
      <div class="body preset-fields">
        {preset.fields.map(({ name, label, hint, wrong, isSecret = false }) => {
          const value = values[name] ?? "";
          return (
            <Field key={name} label={label} hint={hint} wrong={value === "" ? "" : wrong(value.trim())}>
              {isSecret ? (
                <SecretInput value={value} onText={set(name)} />
              ) : (
                <TextInput value={value} onText={set(name)} />
              )}
            </Field>
          );
        })}
        <Field label="Path" hint="Below auth/: another one if this is in use.">
          <TextInput value={values.mount ?? preset.mount} onText={set("mount")} />
        </Field>
      </div>
    </section>
  );
}
