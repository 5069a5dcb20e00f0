import { href } from "../href.ts";
import { PAGE_NEEDS } from "../nav.ts";
import { missingOf } from "../needed-capabilities.ts";
import type { GrantedBy, PolicyCheck } from "../policies/use-policy-check.ts";
import { Field, Notice, Segments } from "../ui/index.ts";
import type { PolicyChoice } from "./chosen-policy.ts";
import { FIRST_POLICY, openedText, READER_POLICY } from "./first-policies.ts";

/** The paths whose capabilities decide which pages a policy opens. */
export const PATHS_OF_PAGES: readonly string[] = PAGE_NEEDS.map(([, [path]]) => path);

/** Policies that a role does not give. */
const NOT_GIVEN = new Set(["root", "response-wrapping"]);

const KINDS = [
  ["new", "A new one"],
  ["existing", "One that exists"],
] as const;

interface PolicyChoiceFieldsProps {
  readonly choice: PolicyChoice;
  /** The name of the new policy; "" until it is typed. */
  readonly role: string;
  /** Names of all policies. */
  readonly policies: readonly string[];
  readonly wrong: string;
  readonly check: PolicyCheck;
  /** True when this page wrote the policy with the name of the role. */
  readonly isWritten: boolean;
  /** True for a login of people, who use the console. */
  readonly isForPeople: boolean;
  readonly onChoice: (choice: PolicyChoice) => void;
}

/** The choice of what the clients of a login may do. */
export function PolicyChoiceFields(props: PolicyChoiceFieldsProps) {
  const { choice, role, policies, wrong, check, isWritten, isForPeople, onChoice } = props;
  const { kind, name, text } = choice;
  const exists = kind === "new" && policies.includes(role.toLowerCase());
  const starts = isForPeople && !exists && kind === "new";
  return (
    <fieldset class="group">
      <legend>What they may do</legend>
      <div class="row">
        <Segments
          legend="Policy"
          options={KINDS}
          value={kind}
          onChange={(next) => onChoice({ ...choice, kind: next })}
        />
        {starts && (
          <>
            <span class="muted">Start with:</span>
            <Start
              label="Their session only"
              text={FIRST_POLICY}
              onStart={(start) => onChoice({ ...choice, text: start })}
            />
            <Start
              label="Read the console"
              text={READER_POLICY}
              onStart={(start) => onChoice({ ...choice, text: start })}
            />
          </>
        )}
      </div>
      {kind === "existing" && (
        <Field label="Policy of the role" wrong={wrong}>
          <select value={name} onChange={(event) => onChoice({ ...choice, name: event.currentTarget.value })}>
            <option value="">Choose…</option>
            {policies
              .filter((one) => !NOT_GIVEN.has(one))
              .map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
          </select>
        </Field>
      )}
      {exists && (
        <p>
          The policy <a href={href(["policies", role.toLowerCase()])}>{role.toLowerCase()}</a>{" "}
          {isWritten ? "is written: the role gives it." : "exists: the role gives it as it is."}
        </p>
      )}
      {kind === "new" && !exists && (
        <Field
          label="Text of the new policy"
          hint={text === FIRST_POLICY ? "So it allows a token to look itself up, and nothing else." : ""}
          wrong={wrong}
        >
          <textarea
            class="mono"
            value={text}
            spellcheck={false}
            rows={Math.min(14, text.split("\n").length)}
            onInput={(event) => onChoice({ ...choice, text: event.currentTarget.value })}
          />
        </Field>
      )}
      {isForPeople && check.granted !== null && wrong === "" && <Opened granted={check.granted} />}
    </fieldset>
  );
}

/** What people see with a policy. */
function Opened({ granted }: { readonly granted: GrantedBy }) {
  const pages = PAGE_NEEDS.filter(([, needs]) => missingOf(needs, granted[needs[0]] ?? []).length === 0).map(
    ([label]) => label,
  );
  return <Notice tone={pages.length === 0 ? "warn" : "plain"} title={openedText(pages)} />;
}

interface StartProps {
  readonly label: string;
  readonly text: string;
  readonly onStart: (text: string) => void;
}

function Start({ label, text, onStart }: StartProps) {
  return (
    <button type="button" class="button slim" onClick={() => onStart(text)}>
      {label}
    </button>
  );
}
