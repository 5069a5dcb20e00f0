import { useState } from "preact/hooks";
import { href } from "../href.ts";
import { LoginCheck } from "../methods/login-check.tsx";
import { PARTS } from "../methods/parts.ts";
import { needsOf } from "../needs.ts";
import { AllowedButton, Card, Copy, Notice, ProblemNotice, Segments, SendProblem, useTried } from "../ui/index.ts";
import { type Existing, type LoginPlan, planOf, stepsLeft } from "./plan.ts";
import type { Preset, PresetValues } from "./preset.ts";
import { PresetForm } from "./preset-form.tsx";
import { useFound, useSteps } from "./use-steps.ts";
import { mistakesIn, trimmed, valuesWithUsual } from "./values.ts";

interface SetUpProps {
  readonly preset: Preset;
  readonly existing: Omit<Existing, "trust">;
  /** Something was written. */
  readonly onSent: () => void;
}

/** The form's id: its button stands below the texts. */
const FORM = "set-up";

/** The fields of a preset, the texts once they are filled in, the button that sets it up, and the check of a login. */
export function SetUp({ preset, existing, onSent }: SetUpProps) {
  const [typed, setTyped] = useState<PresetValues>(() => valuesWithUsual(preset, window.location.origin));
  const [tried, attempt] = useTried();
  const values = trimmed(typed);
  const { mount = "", address = "" } = values;
  const mistakes = mistakesIn(preset, values);
  const role = preset.roleOf?.(values) ?? values.role ?? "";
  const met = useFound(preset, mount, role, existing);
  const key = JSON.stringify([preset.id, values]);
  const { busy, outcome, run } = useSteps(key, () => {
    onSent();
    met.reload();
  });
  const hasMount = existing.mounts[`${mount}/`] === preset.method;
  const plan =
    mistakes.size > 0
      ? null
      : planOf(preset, values, {
          address,
          mount,
          hasMount,
          hasTrust: met.found.trust !== null,
          policy: met.found.policy,
        });
  const {
    problem: taken = "",
    left = [],
    kept = [],
  } = plan ? stepsLeft(plan, preset, { ...existing, ...met.found }) : {};
  const wrong = taken === "" ? mistakes : new Map([["mount", taken]]);
  const isUnknown = met.busy || met.problem !== null;
  const isReady = outcome.sent.length > 0 && outcome.refused === null && !busy;
  const submit = (event: Event): void => {
    if (attempt(event, wrong.size === 0) && !busy && !isUnknown) void run(left);
  };
  const [first] = left;
  const stays = kept.filter(({ what }) => !outcome.sent.some((step) => step.what === what));
  return (
    <>
      <PresetForm
        id={FORM}
        preset={preset}
        values={typed}
        wrong={wrong}
        tried={tried}
        onValues={setTyped}
        onSubmit={submit}
      />
      {plan && !met.busy && <Texts plan={plan} hasPolicy={met.found.policy !== undefined} />}
      <Card title="Set it up here" body>
        {met.problem && <ProblemNotice problem={met.problem} onRetry={met.reload} />}
        {stays.length > 0 && (
          <p class="muted">Exists, and stays as it is: {stays.map(({ label }) => lowerFirst(label)).join(", ")}.</p>
        )}
        <ul class="plain" aria-live="polite">
          {outcome.sent.map(({ label }) => (
            <li key={label} class="good">
              {label}: written
            </li>
          ))}
          {outcome.refused && <li>{outcome.refused.label}: not written</li>}
        </ul>
        <SendProblem problem={outcome.problem} />
        <div class="actions">
          <AllowedButton
            look="button primary"
            form={FORM}
            needs={first ? needsOf(first.request.path) : null}
            busy={busy || (plan !== null && isUnknown)}
          >
            {busy ? "Setting up…" : `Set up ${preset.thing ?? preset.title}`}
          </AllowedButton>
          {plan && (
            <a class="button" href={href(["policies", plan.place.role.toLowerCase()])}>
              Its policy
            </a>
          )}
        </div>
      </Card>
      {isReady && plan && (
        <>
          {plan.snippets.map(({ title, text }) => (
            <Card key={title} title={title} body>
              <Copy value={text} label={title} />
            </Card>
          ))}
          <CheckOf preset={preset} plan={plan} />
        </>
      )}
    </>
  );
}

type Form = "policy" | "curl" | "terraform" | "job";

const FORMS: readonly (readonly [Form, string])[] = [
  ["policy", "Policy (HCL)"],
  ["curl", "API calls"],
  ["terraform", "Terraform"],
  ["job", "For the client"],
];

interface TextsProps {
  readonly plan: LoginPlan;
  /** True: the policy exists already. */
  readonly hasPolicy: boolean;
}

function Texts({ plan, hasPolicy }: TextsProps) {
  const [form, setForm] = useState<Form>("policy");
  const texts: Readonly<Record<Form, string>> = {
    policy: plan.policy ?? "",
    curl: plan.curl,
    terraform: plan.terraform,
    job: plan.snippets.map(({ title, text }) => `# ${title}\n${text}`).join("\n"),
  };
  const label = FORMS.find(([one]) => one === form)?.[1] ?? "";
  return (
    <Card title="What it is" beside={<Segments legend="As" options={FORMS} value={form} onChange={setForm} />} body>
      {form === "policy" && hasPolicy && (
        <Notice title={`There is a policy ${plan.place.role.toLowerCase()} already: it stays as it is`}>
          {plan.policy === null ? "Your policies do not let you read it." : "This is its text."}
        </Notice>
      )}
      {texts[form] !== "" && <Copy value={texts[form]} label={label} />}
    </Card>
  );
}

const lowerFirst = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);

function CheckOf({ preset, plan }: { readonly preset: Preset; readonly plan: LoginPlan }) {
  const part = (PARTS[preset.method] ?? []).find((one) => one.kind === "login check");
  if (part?.kind !== "login check") return null;
  const { mount, role } = plan.place;
  return (
    <>
      <h2>Check a login</h2>
      <LoginCheck mount={mount} part={part} given={{ role, identity: plan.identity }} />
    </>
  );
}
