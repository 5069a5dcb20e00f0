import { useState } from "preact/hooks";
import { href } from "../href.ts";
import { belowMount } from "../methods/mount-paths.ts";
import { needsOf } from "../needed-capabilities.ts";
import { endpointOf } from "../policies/policy-endpoint.ts";
import { usePolicyCheck } from "../policies/use-policy-check.ts";
import { AllowedButton, Notice, ProblemNotice, SendProblem, useTried, Warnings } from "../ui/index.ts";
import { AtTheEnd } from "./at-the-end.tsx";
import { choiceMistake, FIRST_CHOICE } from "./chosen-policy.ts";
import { configPath } from "./config-path.ts";
import { type Existing, hasRole, othersAt, type PlanStep, planOf, readyText, stepsLeft } from "./login-plan.ts";
import { unusedSettings, writesSettings } from "./mount-settings.ts";
import { PlanTexts } from "./plan-texts.tsx";
import { PATHS_OF_PAGES, PolicyChoiceFields } from "./policy-choice.tsx";
import type { Preset, PresetValues } from "./preset.ts";
import { PresetForm } from "./preset-form.tsx";
import { mistakesIn, trimmed, valuesWithUsual } from "./preset-values.ts";
import { Agreement, UnusedNotice } from "./unused-notice.tsx";
import { useExisting, useSteps } from "./use-plan-steps.ts";

interface SetUpProps {
  readonly preset: Preset;
  readonly existing: Omit<Existing, "settings" | "roles">;
  /** Called after a write. */
  readonly onSent: () => void;
}

/** The form of a preset with its button and texts, and after the setup what the client needs. */
export function SetUp({ preset, existing, onSent }: SetUpProps) {
  const [typed, setTyped] = useState<PresetValues>(() => valuesWithUsual(preset, window.location.origin));
  const [tried, attempt] = useTried();
  const [policyChoice, setPolicyChoice] = useState(FIRST_CHOICE);
  const values = trimmed(typed);
  const { mount = "", address = "", role = "" } = values;
  const isNewPolicy = policyChoice.kind === "new";
  const policyName = isNewPolicy ? role : policyChoice.name;
  const key = JSON.stringify([preset.id, values, policyName]);
  const { busy, outcome, written, run } = useSteps(key, () => {
    onSent();
    met.reload();
  });
  const met = useExisting(preset, mount, policyName, existing, written);
  const { settings, policy, roles } = met.found;
  const isTyped = isNewPolicy && policy === undefined;
  const check = usePolicyCheck(isTyped ? policyChoice.text : (policy ?? null), PATHS_OF_PAGES);
  const policyMistake = isTyped || !isNewPolicy ? choiceMistake(policyChoice, check) : "";
  const mistakes = mistakesIn(preset, values);
  if (policyMistake !== "") mistakes.set("policy", policyMistake);
  const others = othersAt({ roles }, role);
  // A choice counts only for the mount at which it was made.
  const [choice, setChoice] = useState({ mount: "", sets: false });
  const sets = choice.mount === mount ? choice.sets : null;
  const place = { address, mount, role };
  const hasMistake = mistakes.size > 0;
  const unused = hasMistake || met.busy ? null : unusedSettings(preset, values, place, settings);
  // A change that affects other roles needs the user's choice.
  const setsSecret = unused?.canSetSecret === true && (sets ?? (unused.lacksSecret && others === ""));
  const hasMount = existing.mounts[`${mount}/`] === preset.method;
  // A role that this page wrote is replaced without a confirmation.
  const isOwnRole = written.has(belowMount(mount, "role", role));
  const meetsRole = hasMount && !isOwnRole && hasRole({ roles }, role);
  const [replaced, setReplaced] = useState("");
  const ofRole = JSON.stringify([mount, role]);
  const replacesRole = isOwnRole || replaced === ofRole;
  const isUnset = hasMount && preset.settingsOfMount !== undefined && settings === null && others !== "";
  const setsUp = isUnset && sets === true;
  const plan = hasMistake
    ? null
    : planOf(preset, values, {
        address,
        mount,
        hasMount,
        hasSettings: settings !== null || (isUnset && !setsUp),
        kept: setsSecret && settings !== "hidden" && settings !== null ? settings : undefined,
        policy: isTyped ? policyChoice.text : policy,
        ...(!isNewPolicy && { policyName }),
      });
  const {
    problem: taken = "",
    roleProblem = "",
    left = [],
    kept = [],
  } = plan ? stepsLeft(plan, preset, { ...existing, settings, roles }, { setsSecret, setsUp, replacesRole }) : {};
  const wrong = taken !== "" ? new Map([["mount", taken]]) : roleProblem ? new Map([["role", roleProblem]]) : mistakes;
  const isUnknown = met.busy || met.problem !== null;
  const isReady = outcome.sent.length > 0 && outcome.refused === null && !busy;
  const submit = (event: Event): void => {
    if (attempt(event, wrong.size === 0) && !busy && !isUnknown) void run(left, [mount, role]);
  };
  const [first] = left;
  const isSent = ({ what }: PlanStep): boolean => outcome.sent.some((step) => step.what === what);
  const isOfPage = ({ request }: PlanStep): boolean => written.has(request.path);
  const stays = kept.filter((step) => !isSent(step));
  const button = `Set up ${preset.thing ?? preset.title}`;
  // True when this page wrote these values, so that they are not reported as unused.
  const isWritten = (): boolean =>
    writesSettings(preset, values, place, written.get(belowMount(mount, configPath(preset))));
  return (
    <>
      <PresetForm preset={preset} values={typed} wrong={wrong} tried={tried} onValues={setTyped} onSubmit={submit}>
        <PolicyChoiceFields
          choice={policyChoice}
          role={role}
          policies={existing.policies}
          wrong={tried || isNewPolicy ? policyMistake : ""}
          check={check}
          isWritten={written.has(endpointOf(role))}
          isForPeople={preset.method === "oidc"}
          onChoice={setPolicyChoice}
        />
        {met.problem && <ProblemNotice problem={met.problem} onRetry={met.reload} />}
        {unused && taken === "" && !busy && !isWritten() && (
          <UnusedNotice
            mount={mount}
            unused={unused}
            effect={others === "" ? "" : effectText(preset, others)}
            setsSecret={setsSecret}
            onSetsSecret={(sets) => setChoice({ mount, sets })}
          />
        )}
        {isUnset && !met.busy && !busy && taken === "" && (
          <>
            <Notice tone="warn" title={`auth/${mount}/ has ${others}, and no such settings: they are not made`}>
              {effectText(preset, others)}
            </Notice>
            <Agreement checked={setsUp} onChange={(sets) => setChoice({ mount, sets })}>
              Write them all the same: {lowerFirst(preset.settingsOfMount?.label ?? "")}
            </Agreement>
          </>
        )}
        {meetsRole && plan && !met.busy && !busy && taken === "" && (
          <>
            <Notice tone="warn" title={`auth/${mount}/ has the role ${role} already`}>
              {`Clients may log in by it. Replaced, it gives the policy ${policyName} and no other, and what is typed here counts for its next logins.`}
            </Notice>
            <Agreement checked={replacesRole} onChange={(replaces) => setReplaced(replaces ? ofRole : "")}>
              Replace the role {role}
            </Agreement>
          </>
        )}
        {hasMount && roles === "hidden" && !isOwnRole && (
          <p class="muted">Your policies do not let you list the roles there: one of this name is replaced.</p>
        )}
        <Names title="Exists, and stays as it is" steps={stays.filter((step) => !isOfPage(step))} />
        <Names title="Written here before, and stays as it is" steps={stays.filter(isOfPage)} />
        <ul class="plain" aria-live="polite">
          {isReady && (
            <li>
              <strong>{readyText(preset)}</strong>
            </li>
          )}
          {outcome.sent.map(({ label }) => (
            <li key={label} class="good">
              {label}: written
            </li>
          ))}
          {outcome.refused && <li class="bad">{outcome.refused.label}: not written</li>}
          {outcome.undone && (
            <li>{outcome.undone.label}: disabled again, because no login works without its settings</li>
          )}
          {outcome.notUndone && (
            <li class="bad">The method could not be disabled again: {outcome.notUndone.messages.join(" ")}</li>
          )}
        </ul>
        <Warnings of={outcome} />
        <SendProblem problem={outcome.problem} />
        {outcome.refused && !busy && (
          <>
            <Names title="Still to be written" steps={left} />
            <p>
              {outcome.sent.length === 0
                ? `Nothing is written. “${button}” begins again.`
                : `“${button}” continues with these steps. What is written stays.`}
            </p>
          </>
        )}
        <div class="actions">
          <AllowedButton
            look="button primary"
            needs={first ? needsOf(first.request.path) : null}
            busy={busy || (plan !== null && isUnknown)}
          >
            {busy ? "Setting up…" : button}
          </AllowedButton>
          {plan && (policy !== undefined || isReady) && (
            <a class="button" href={href(["policies", plan.policyName.toLowerCase()])}>
              Its policy
            </a>
          )}
        </div>
      </PresetForm>
      {isReady && plan && <AtTheEnd preset={preset} plan={plan} />}
      {plan && !met.busy && (
        <PlanTexts plan={plan} hasPolicy={policy !== undefined && !written.has(endpointOf(plan.policyName))} />
      )}
    </>
  );
}

const effectText = ({ settingsOfMount }: Preset, others: string): string =>
  `It has ${others}. ${settingsOfMount?.effect ?? ""}`;

/** A line with the subjects of some steps. */
function Names({ title, steps }: { readonly title: string; readonly steps: readonly PlanStep[] }) {
  if (steps.length === 0) return null;
  return (
    <p class="muted">
      {title}: {steps.map(({ label }) => lowerFirst(label)).join(", ")}.
    </p>
  );
}

const lowerFirst = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);
