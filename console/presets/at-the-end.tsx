import { useState } from "preact/hooks";
import { LoginCheck } from "../methods/login-check.tsx";
import { PARTS } from "../methods/parts-by-type.ts";
import { Card, Copy } from "../ui/index.ts";
import { FirstSecretId } from "./first-secret-id.tsx";
import type { LoginPlan } from "./login-plan.ts";
import type { Preset } from "./preset.ts";

/** What the client needs after the setup: its commands, its credentials, and the check of a login. */
export function AtTheEnd({ preset, plan }: { readonly preset: Preset; readonly plan: LoginPlan }) {
  const [accessor, setAccessor] = useState("");
  return (
    <>
      {preset.method === "approle" && <FirstSecretId place={plan.place} onMade={setAccessor} />}
      {plan.snippets.map(({ title, text }) => (
        <Card key={title} title={title} body>
          <Copy value={text} label={title} />
        </Card>
      ))}
      <CheckOf key={accessor} preset={preset} plan={plan} accessor={accessor} />
    </>
  );
}

interface CheckOfProps {
  readonly preset: Preset;
  readonly plan: LoginPlan;
  /** Accessor of the last new secret-id; "" for none. */
  readonly accessor: string;
}

function CheckOf({ preset, plan, accessor }: CheckOfProps) {
  const part = (PARTS[preset.method] ?? []).find((one) => one.kind === "login check");
  if (part?.kind !== "login check") return null;
  const { mount, role } = plan.place;
  return (
    <>
      <h2>Check a login</h2>
      <LoginCheck mount={mount} part={part} given={{ role, identity: accessor || plan.identity }} />
    </>
  );
}
