import { useState } from "preact/hooks";
import { href } from "../href.ts";
import { LoginCheck } from "../methods/login-check.tsx";
import { PARTS } from "../methods/parts.ts";
import { needsOf } from "../needs.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { AllowedButton, Card, Copy, Notice, Segments, SendProblem } from "../ui/index.ts";
import { type Existing, type LoginPlan, planOf, stepsLeft } from "./plan.ts";
import type { Preset, PresetValues } from "./preset.ts";
import { trimmed, valuesProblem } from "./values.ts";

interface SetUpProps {
  readonly preset: Preset;
  readonly values: PresetValues;
  readonly existing: Existing;
  /** Something was written. */
  readonly onSent: () => void;
  /** Called for a mount that was enabled here, and again once it has whom it trusts. */
  readonly onBegun: (mount: string, isBegun: boolean) => void;
}

/** The texts of a preset once its fields are filled in, the button that sets it up, and the check of a login. */
export function SetUp({ preset, values, ...steps }: SetUpProps) {
  const [ready, setReady] = useState<LoginPlan | null>(null);
  const wrong = valuesProblem(preset, values);
  if (wrong !== "") return <p class="muted">{wrong}</p>;
  const clean = trimmed(values);
  const plan = planOf(preset, clean, window.location.origin, clean.mount ?? "");
  const isReady = ready !== null && ready.curl === plan.curl;
  return (
    <>
      <Texts plan={plan} />
      <Steps preset={preset} plan={plan} {...steps} onReady={() => setReady(plan)} />
      {isReady && (
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

function Texts({ plan }: { readonly plan: LoginPlan }) {
  const [form, setForm] = useState<Form>("policy");
  const texts: Readonly<Record<Form, string>> = {
    policy: plan.policy,
    curl: plan.curl,
    terraform: plan.terraform,
    job: plan.snippets.map(({ title, text }) => `# ${title}\n${text}`).join("\n"),
  };
  const label = FORMS.find(([one]) => one === form)?.[1] ?? "";
  return (
    <Card title="What it is" beside={<Segments legend="As" options={FORMS} value={form} onChange={setForm} />} body>
      <Copy value={texts[form]} label={label} />
    </Card>
  );
}

interface StepsProps extends Pick<SetUpProps, "preset" | "existing" | "onSent" | "onBegun"> {
  readonly plan: LoginPlan;
  /** All was written. */
  readonly onReady: () => void;
}

/** Sends what is missing, one request after the other, and stops at the first that is refused. */
function Steps({ preset, plan, existing, onSent, onBegun, onReady }: StepsProps) {
  const { api } = useSession();
  const [sent, setSent] = useState<readonly string[]>([]);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const { problem: taken, left, kept } = stepsLeft(plan, preset, existing);
  const run = async (): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setProblem(null);
    setSent([]);
    for (const { what, label, request } of left) {
      const answer = await api.call(request.path, { body: request.body });
      if (!answer.ok) {
        setBusy(false);
        // What was written so far is there now.
        onSent();
        return setProblem(answer.problem);
      }
      if (what === "mount" || what === "config") onBegun(plan.place.mount, what === "mount");
      setSent((before) => [...before, label]);
    }
    setBusy(false);
    onSent();
    onReady();
  };
  const first = left[0];
  return (
    <Card title="Set it up here" body>
      {taken !== "" && <Notice tone="warn" title={taken} />}
      {kept.length > 0 && <p class="muted">Stays as it is: {kept.map(({ label }) => label).join(", ")}.</p>}
      <ul class="plain" aria-live="polite">
        {sent.map((label) => (
          <li key={label} class="good">
            {label}: written
          </li>
        ))}
      </ul>
      <SendProblem problem={problem} />
      <div class="actions">
        <AllowedButton
          look="button primary"
          needs={first ? needsOf(first.request.path) : null}
          disabled={taken !== ""}
          busy={busy}
          onClick={run}
        >
          {busy ? "Setting up…" : `Set up ${preset.title}`}
        </AllowedButton>
        <a class="button" href={href(["policies", plan.place.role])}>
          Its policy
        </a>
      </div>
    </Card>
  );
}

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
