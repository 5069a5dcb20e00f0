import { Field, SecretInput, TextInput } from "../ui/index.ts";
import {
  type ChosenMethod,
  formOf,
  isUsable,
  type ListedMount,
  LOGIN_FORMS,
  type LoginField,
  missingIn,
} from "./login-forms.ts";

interface MethodFieldsProps {
  readonly listed: readonly ListedMount[];
  readonly method: ChosenMethod;
  onMethod(method: ChosenMethod): void;
  readonly values: Readonly<Record<string, string>>;
  onText(name: string, text: string): void;
  /** True to mark empty required fields. */
  readonly tried: boolean;
  /** True after a refusal because the method has no default role: the field for one is shown. */
  readonly lacksRole: boolean;
}

/** The choice that lets the user type a method. No path is empty. */
const OTHER = "";

/** The choice of a method, and the fields of its login. */
export function MethodFields({ listed, method, onMethod, values, onText, tried, lacksRole }: MethodFieldsProps) {
  const usable = listed.filter(isUsable);
  const missing = tried ? missingIn(method, values) : [];
  const choose = (path: string): void => {
    const mount = usable.find((one) => one.path === path);
    onMethod(mount ? { ...mount, isListed: true } : { isListed: false, path: "", type: method.type });
  };
  const inputs = formOf(method)?.fields ?? [];
  const input = (field: LoginField) => (
    <LoginInput
      key={field.name}
      field={field}
      value={values[field.name] ?? ""}
      wrong={missing.includes(field.name) ? "Needed" : ""}
      onText={(text) => onText(field.name, text)}
    />
  );
  return (
    <>
      {usable.length > 0 && (
        <Field label="Method">
          <select value={method.isListed ? method.path : OTHER} onChange={(event) => choose(event.currentTarget.value)}>
            {usable.map(({ path, description }) => (
              <option key={path} value={path}>
                {description ? `${description} · ${path}` : path}
              </option>
            ))}
            <option value={OTHER}>Another one…</option>
          </select>
        </Field>
      )}
      {!method.isListed && <TypedMethod method={method} onMethod={onMethod} />}
      {inputs.filter((field) => !isUsualRole(field)).map(input)}
      {inputs.some(isUsualRole) && (
        <details class="fold" open={lacksRole}>
          <summary>Another role</summary>
          {inputs.filter(isUsualRole).map(input)}
        </details>
      )}
    </>
  );
}

/** True for a role that most people leave to the method. */
const isUsualRole = ({ name, isRequired = false }: LoginField): boolean => name === "role" && !isRequired;

/** A method that is not listed. The server does not even say whether it exists. */
function TypedMethod({ method, onMethod }: Pick<MethodFieldsProps, "method" | "onMethod">) {
  return (
    <>
      <Field label="Type">
        <select value={method.type} onChange={(event) => onMethod({ ...method, type: event.currentTarget.value })}>
          {Object.entries(LOGIN_FORMS).map(([type, { label }]) => (
            <option key={type} value={type}>
              {label}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Path" hint={`Below auth/. Empty: ${method.type}.`}>
        <TextInput value={method.path} onText={(path) => onMethod({ ...method, path })} />
      </Field>
    </>
  );
}

interface LoginInputProps {
  readonly field: LoginField;
  readonly value: string;
  readonly wrong: string;
  onText(text: string): void;
}

function LoginInput({ field, value, wrong, onText }: LoginInputProps) {
  const { label, hint, isSecret = false, isRequired = false } = field;
  const Input = isSecret ? SecretInput : TextInput;
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      <Input value={value} onText={onText} required={isRequired} />
    </Field>
  );
}
