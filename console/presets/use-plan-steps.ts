import { useState } from "preact/hooks";
import type { StoredPolicy } from "../../client/answers.d.ts";
import { belowMount, ofMount } from "../methods/mount-paths.ts";
import { PARTS } from "../methods/parts-by-type.ts";
import { endpointOf } from "../policies/policy-endpoint.ts";
import type { RecordValue } from "../records/field.ts";
import { type Answer, done, notSent, type Problem } from "../result.ts";
import { refusalOfParts } from "../search/secret-in-address.ts";
import { useSession } from "../session.ts";
import { useLoad } from "../ui/index.ts";
import { configPath } from "./config-path.ts";
import { type Existing, type PlanStep, uselessMount } from "./login-plan.ts";
import type { MountSettings } from "./mount-settings.ts";
import type { Preset } from "./preset.ts";

/** The current state of the places that a plan writes to. */
interface Found extends Pick<Existing, "settings" | "roles"> {
  /** The text of the policy; undefined when it does not exist, null when it may not be read. */
  readonly policy: string | null | undefined;
}

const NOTHING: Found = { settings: null, roles: [], policy: undefined };

/** The bodies that this page wrote, by the paths of their requests. */
export type Written = ReadonlyMap<string, RecordValue>;

/**
 * Reads the current state of the places that a plan writes to. `busy` while it is not known.
 *
 * @param written bodies that this page wrote: a mount that it enabled has no settings before it writes them
 */
export function useExisting(
  preset: Preset,
  mount: string,
  policyName: string,
  { mounts, policies }: Omit<Existing, "settings" | "roles">,
  written: Written,
) {
  const { api } = useSession();
  const type = mounts[`${mount}/`];
  const name = policyName.toLowerCase();
  const hasPolicy = policies.includes(name);
  const path = belowMount(mount, configPath(preset));
  const mayHaveRoles = type === preset.method && !written.has(ofMount(mount));
  const mayHaveSettings =
    preset.settingsOfMount !== undefined && type === preset.method && (written.has(path) || mayHaveRoles);
  const key = JSON.stringify([mount, type, mayHaveSettings, mayHaveRoles, hasPolicy && name]);
  const found = useLoad(key, async () => {
    const [settings, policy, roles] = await Promise.all([
      // A mount that this page enabled has no settings until their step has succeeded.
      mayHaveSettings ? ifShown(api.read<RecordValue>(path)) : done<MountSettings>(null),
      hasPolicy ? ifShown(api.read<StoredPolicy>(endpointOf(name))) : done(null),
      mayHaveRoles ? ifShown(api.list(rolesPath(preset, mount))) : done([]),
    ]);
    if (!settings.ok) return settings;
    if (!policy.ok) return policy;
    if (!roles.ok) return roles;
    const text = policy.value === "hidden" ? null : policy.value?.policy;
    return done({ at: key, is: { settings: settings.value, roles: roles.value ?? [], policy: text } });
  });
  // An answer for earlier input does not count for the current one.
  const isNow = found.value?.at === key;
  const { problem, reload } = found;
  return { found: isNow ? (found.value?.is ?? NOTHING) : NOTHING, problem, reload, busy: found.busy || !isNow };
}

/** The endpoint that lists the roles of a mount. */
function rolesPath({ method }: Preset, mount: string): string {
  const part = (PARTS[method] ?? []).find((one) => one.part === "roles");
  return belowMount(mount, part?.kind === "collection" ? (part.listPath ?? part.itemPath) : "role");
}

/** null for a record that does not exist, "hidden" for one that may not be read. */
async function ifShown<T>(asked: Promise<Answer<T>>): Promise<Answer<T | "hidden" | null>> {
  const answer = await asked;
  if (answer.ok) return answer;
  const { status } = answer.problem;
  return status === 404 ? done(null) : status === 403 ? done("hidden" as const) : answer;
}

/** The results of a plan's steps. */
interface Outcome {
  /** The values of the plan, as a key. */
  readonly of: string;
  readonly sent: readonly PlanStep[];
  /** Warnings of the successful steps. */
  readonly warnings: readonly string[];
  /** The refused step. */
  readonly refused: PlanStep | null;
  readonly problem: Problem | null;
  /** The mount that was disabled again after the refusal. */
  readonly undone: PlanStep | null;
  /** Why the mount could not be disabled again. It is still among `sent` then. */
  readonly notUndone: Problem | null;
}

const DONE = { refused: null, problem: null, undone: null, notUndone: null };
const NONE: Outcome = { of: "", sent: [], warnings: [], ...DONE };

/**
 * Sends the remaining steps of a plan one after the other, and stops at the first refusal. A mount that this page enabled
 * and whose settings are refused is disabled again.
 *
 * @param of the values of the plan, as a key: results for other values are not shown with it
 * @param onSent called after a write
 */
export function useSteps(of: string, onSent: () => void) {
  const session = useSession();
  const { api } = session;
  const [busy, setBusy] = useState(false);
  const [last, setLast] = useState(NONE);
  const [written, setWritten] = useState<Written>(new Map());
  const outcome = last.of === of ? last : NONE;
  const run = async (steps: readonly PlanStep[], names: readonly string[]): Promise<void> => {
    setBusy(true);
    // Steps that succeeded in an earlier run, which another step stopped.
    let sent = [...outcome.sent];
    const warnings = [...outcome.warnings];
    let end: Omit<Outcome, "of" | "sent" | "warnings"> = DONE;
    const disable = async (mount: PlanStep): Promise<Pick<Outcome, "undone" | "notUndone">> => {
      const { path } = mount.request;
      const answer = await api.call(path, { method: "DELETE" });
      if (!answer.ok) return { undone: null, notUndone: answer.problem };
      sent = sent.filter((step) => step !== mount);
      setWritten((before) => new Map([...before].filter(([one]) => one !== path)));
      return { undone: mount, notUndone: null };
    };
    const refusal = await refusalOfParts(session, names);
    for (const [at, step] of steps.entries()) {
      const answer = refusal === "" ? await api.call(step.request.path, { body: step.request.body }) : notSent(refusal);
      if (!answer.ok) {
        const useless = uselessMount(step, steps.slice(0, at));
        end = { ...DONE, refused: step, problem: answer.problem, ...(useless && (await disable(useless))) };
        break;
      }
      sent.push(step);
      warnings.push(...(answer.value.warnings ?? []));
      setWritten((before) => new Map([...before, [step.request.path, step.request.body]]));
      setLast({ of, sent: [...sent], warnings: [...warnings], ...DONE });
    }
    setBusy(false);
    setLast({ of, sent, warnings, ...end });
    // Reads the new state.
    onSent();
  };
  return { busy, outcome, written, run };
}
