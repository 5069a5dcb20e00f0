import { belowMount, ofMount as pathOfMount } from "../methods/mount-paths.ts";
import { endpointOf } from "../policies/policy-endpoint.ts";
import type { RecordValue } from "../records/field.ts";
import { curlCommand, type FormRequest } from "../records/request-commands.ts";
import { configPath } from "./config-path.ts";
import { FIRST_POLICY } from "./first-policies.ts";
import { conflictOf, type MountSettings, settingsBody, withoutSecrets } from "./mount-settings.ts";
import { terraformOf } from "./plan-terraform.ts";
import type { Preset, PresetPlace, PresetValues, Snippet } from "./preset.ts";

/** The texts and requests that set up a login. */
export interface LoginPlan {
  readonly place: PresetPlace;
  /** The policy that the role gives. */
  readonly policyName: string;
  /** The text of the existing policy, or of a new one. null when the policy may not be read. */
  readonly policy: string | null;
  readonly steps: readonly PlanStep[];
  /** The steps as commands of curl, without secrets. */
  readonly curl: string;
  readonly terraform: string;
  readonly snippets: readonly Snippet[];
  /** The initial value in the check of a login. */
  readonly identity: string;
}

/** One request of a plan. */
export interface PlanStep {
  readonly what: "policy" | "mount" | "settings" | "role";
  /** The label for the user. */
  readonly label: string;
  readonly request: FormRequest;
}

/** The current state of the installation. */
export interface Existing {
  /** Types of the auth mounts, by their path with a slash at the end. */
  readonly mounts: Readonly<Record<string, string>>;
  readonly policies: readonly string[];
  /** The settings of the plan's mount; null without a mount or settings. */
  readonly settings: MountSettings;
  /** Names of the roles of the mount; "hidden" when they may not be listed. */
  readonly roles: readonly string[] | "hidden";
}

/** The other roles of a plan's mount, which a change of its settings affects, as the end of a sentence; "" without any. */
export function othersAt({ roles }: Pick<Existing, "roles">, role: string): string {
  if (roles === "hidden") return "roles that you may not list";
  const others = roles.filter((name) => !isSameRole(name, role));
  const named = others.slice(0, NAMED_ROLES).join(", ");
  return others.length === 0
    ? ""
    : `the ${others.length === 1 ? "role" : "roles"} ${named}${others.length > NAMED_ROLES ? ", …" : ""}`;
}

const NAMED_ROLES = 5;

/** Some methods store names of roles in lower case. */
const isSameRole = (name: string, role: string): boolean => name === role || name === role.toLowerCase();

/** True when the mount of a plan has a role of this name. False also when its roles may not be listed. */
export const hasRole = ({ roles }: Pick<Existing, "roles">, role: string): boolean =>
  roles !== "hidden" && roles.some((name) => isSameRole(name, role));

/** Changes of an existing mount that the user has confirmed. */
export interface Agreed {
  /** True: the secret of the mount is set, and its other settings stay. */
  readonly setsSecret: boolean;
  /** True: a mount that has roles and no settings gets settings. */
  readonly setsUp: boolean;
  /** True: the mount's role of the same name is replaced. */
  readonly replacesRole: boolean;
}

const NOTHING_AGREED: Agreed = { setsSecret: false, setsUp: false, replacesRole: false };

interface PlanOptions {
  /** The origin that clients reach. */
  readonly address: string;
  /** Absent: the default path of the preset. */
  readonly mount?: string;
  /** True when the mount exists: the commands must not enable it again. */
  readonly hasMount?: boolean;
  /** True when the mount has settings, which stay as they are. */
  readonly hasSettings?: boolean;
  /** The settings of the mount, when only its secret is set. */
  readonly kept?: RecordValue | undefined;
  /** The text of the existing policy, or of a new one; null when it may not be read. Absent: a first policy. */
  readonly policy?: string | null | undefined;
  /** An existing policy that the role gives. Absent: the policy with the name of the role. */
  readonly policyName?: string | undefined;
}

/**
 * The plan of a preset for valid values. Its texts contain an existing policy unchanged, and leave out a policy that may not
 * be read.
 */
export function planOf(preset: Preset, values: PresetValues, options: PlanOptions): LoginPlan {
  const { address, mount = preset.mount, hasMount = false, kept, policy = FIRST_POLICY } = options;
  const hasSettings = hasMount && options.hasSettings === true && kept === undefined;
  const name = values.role ?? "";
  const place: PresetPlace = { address, mount, role: name };
  const { policyName = name } = options;
  // A policy that was chosen is not this login's alone: the texts do not write it.
  const own = options.policyName === undefined ? policy : null;
  const role = { ...preset.role(values, place), token_policies: [policyName] };
  const asked = { name: policyName, text: policy ?? FIRST_POLICY };
  const steps = stepsOf(preset, place, asked, settingsBody(preset, values, place, kept), role);
  const settings = settingsBody(preset, withoutSecrets(preset, values), place, kept);
  const shown = stepsOf(preset, place, asked, settings, role).filter(
    ({ what }) =>
      !(what === "policy" && own === null) && !(what === "mount" && hasMount) && !(what === "settings" && hasSettings),
  );
  return {
    place,
    policyName,
    policy,
    steps,
    curl: shown.map(({ label, request }) => `# ${label}\n${curlCommand(request)}`).join("\n"),
    terraform: terraformOf(preset, place, own, settings, role, { hasMount, hasSettings }),
    snippets: preset.snippets(values, place),
    identity: preset.identity(values, place),
  };
}

/**
 * The server asks an issuer or a provider when its settings are written. They come before the policy and the role, so
 * that a refusal leaves only a new mount to disable.
 */
function stepsOf(
  { method, settings: usual, settingsOfMount }: Preset,
  place: PresetPlace,
  policy: { readonly name: string; readonly text: string },
  settings: RecordValue | undefined,
  role: RecordValue,
): PlanStep[] {
  const { mount, role: name } = place;
  return [
    {
      what: "mount",
      label: `The method ${method} at auth/${mount}/`,
      request: { path: pathOfMount(mount), body: { type: method, ...(usual && { config: usual }) } },
    },
    ...(settings && settingsOfMount
      ? [
          {
            what: "settings" as const,
            label: `${settingsOfMount.label} of auth/${mount}/`,
            request: { path: belowMount(mount, configPath({ method })), body: settings },
          },
        ]
      : []),
    {
      what: "policy",
      label: `The policy ${policy.name}`,
      request: { path: endpointOf(policy.name), body: { policy: policy.text } },
    },
    {
      what: "role",
      label: `The role ${name}`,
      request: { path: belowMount(mount, "role", name), body: role },
    },
  ];
}

/**
 * The steps that are left, with why the others are not. A policy that exists stays as it is, and so do a mount of the
 * same type and its settings. The settings of a mount with other roles are made, and a role of the same name is written,
 * only where that was agreed to.
 */
export function stepsLeft(
  { steps, place, policyName }: LoginPlan,
  { method }: Preset,
  { mounts, policies, settings, roles }: Existing,
  { setsSecret, setsUp, replacesRole }: Agreed = NOTHING_AGREED,
) {
  const type = mounts[`${place.mount}/`];
  const isTaken = type !== undefined && type !== method;
  const hasPolicy = policies.includes(policyName.toLowerCase());
  const isAlone = othersAt({ roles }, place.role) === "";
  const kept = (what: PlanStep["what"]): boolean =>
    (what === "policy" && hasPolicy) ||
    (what === "mount" && type !== undefined) ||
    (what === "settings" && type !== undefined && !(settings === null ? isAlone || setsUp : setsSecret));
  const other = conflictOf(steps.find(({ what }) => what === "settings")?.request.body ?? {}, settings);
  const where = `auth/${place.mount}/`;
  return {
    problem: isTaken
      ? `${where} is a method of the type ${type}: choose another path.`
      : other !== undefined
        ? `${where} is set up for ${other}: choose another path.`
        : "",
    roleProblem:
      type === method && hasRole({ roles }, place.role) && !replacesRole
        ? `${where} has this role already: choose another name, or have it replaced, below.`
        : "",
    left: steps.filter(({ what }) => !kept(what)),
    kept: steps.filter(({ what }) => kept(what)),
  };
}

/**
 * The new mount to disable after a refused step: without its settings no login there can work. Undefined when there is
 * none, or when the mount existed before, as others may use it.
 *
 * @param sent the steps of the same run before the refused one
 */
export const uselessMount = ({ what }: PlanStep, sent: readonly PlanStep[]): PlanStep | undefined =>
  what === "settings" ? sent.find((step) => step.what === "mount") : undefined;

/** The text after the last step. Only a login shows whether the API server of a cluster answers. */
export const readyText = ({ method }: Pick<Preset, "method">): string =>
  method === "kubernetes"
    ? "It is written, and not tried yet: check below with a token whether the API server answers."
    : "It is set up: what the client needs is below, and a check of its login.";
