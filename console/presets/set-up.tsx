import { useState } from "preact/hooks";
import { href } from "../href.ts";
import { LoginCheck } from "../methods/login-check.tsx";
import { belowMount } from "../methods/mount-paths.ts";
import { PARTS } from "../methods/parts.ts";
import { needsOf } from "../needs.ts";
import type { RecordValue } from "../records/field.ts";
import { type Answer, done, type Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { AllowedButton, Card, Copy, Notice, ProblemNotice, Segments, SendProblem, useLoad } from "../ui/index.ts";
import { configPath, type Existing, type LoginPlan, planOf, stepsLeft } from "./plan.ts";
import type { Preset, PresetValues } from "./preset.ts";
import { trimmed, valuesProblem } from "./values.ts";

interface SetUpProps {
  readonly preset: Preset;
  readonly values: PresetValues;
  readonly existing: Omit<Existing, "trust">;
  /** Something was written. */
  readonly onSent: () => void;
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

interface StepsProps extends Pick<SetUpProps, "preset" | "existing" | "onSent"> {
  readonly plan: LoginPlan;
  /** All was written. */
  readonly onReady: () => void;
}

/** Sends what is missing, one request after the other, and stops at the first that is refused. */
function Steps({ preset, plan, existing, onSent, onReady }: StepsProps) {
  const { api } = useSession();
  const { mount } = plan.place;
  const type = existing.mounts[`${mount}/`];
  // A mount can be there without whom it trusts, which was refused then.
  const trust = useLoad(`${mount} ${type}`, async (): Promise<Answer<{ readonly is: Existing["trust"] }>> => {
    if (type !== preset.method) return done({ is: null });
    const answer = await api.read<RecordValue>(belowMount(mount, configPath(preset)));
    if (answer.ok) return done({ is: answer.value });
    const { status } = answer.problem;
    return status === 404 ? done({ is: null }) : status === 403 ? done({ is: "hidden" }) : answer;
  });
  const [sent, setSent] = useState<readonly string[]>([]);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [refused, setRefused] = useState("");
  const { problem: taken, left, kept } = stepsLeft(plan, preset, { ...existing, trust: trust.value?.is ?? null });
  const run = async (): Promise<void> => {
    if (busy || trust.busy) return;
    setBusy(true);
    setProblem(null);
    setRefused("");
    setSent([]);
    for (const { label, request } of left) {
      const answer = await api.call(request.path, { body: request.body });
      if (!answer.ok) {
        setBusy(false);
        // What was written so far is there now.
        onSent();
        setRefused(label);
        return setProblem(answer.problem);
      }
      setSent((before) => [...before, label]);
    }
    setBusy(false);
    onSent();
    trust.reload();
    onReady();
  };
  const first = left[0];
  return (
    <Card title="Set it up here" body>
      {taken !== "" && <Notice tone="warn" title={taken} />}
      {trust.problem && <ProblemNotice problem={trust.problem} onRetry={trust.reload} />}
      {kept.length > 0 && (
        <p class="muted">Exists, and stays as it is: {kept.map(({ label }) => lowerFirst(label)).join(", ")}.</p>
      )}
      <ul class="plain" aria-live="polite">
        {sent.map((label) => (
          <li key={label} class="good">
            {label}: written
          </li>
        ))}
        {refused !== "" && <li>{refused}: not written</li>}
      </ul>
      <SendProblem problem={problem} />
      <div class="actions">
        <AllowedButton
          look="button primary"
          needs={first ? needsOf(first.request.path) : null}
          disabled={taken !== "" || trust.value === null || trust.busy}
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
