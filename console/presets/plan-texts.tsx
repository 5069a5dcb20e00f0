import { useState } from "preact/hooks";
import { Card, Copy, Notice, Segments } from "../ui/index.ts";
import type { LoginPlan } from "./login-plan.ts";

type Form = "policy" | "curl" | "terraform" | "job";

const FORMS: readonly (readonly [Form, string])[] = [
  ["policy", "Policy (HCL)"],
  ["curl", "API calls"],
  ["terraform", "Terraform"],
  ["job", "For the client"],
];

interface PlanTextsProps {
  readonly plan: LoginPlan;
  /** True: the policy exists already. */
  readonly hasPolicy: boolean;
}

/** The plan as a policy, API calls, Terraform, and what the client runs. */
export function PlanTexts({ plan, hasPolicy }: PlanTextsProps) {
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
        <Notice title={`There is a policy ${plan.policyName.toLowerCase()} already: it stays as it is`}>
          {plan.policy === null ? "Your policies do not let you read it." : "This is its text."}
        </Notice>
      )}
      {texts[form] !== "" && <Copy value={texts[form]} label={label} />}
    </Card>
  );
}
