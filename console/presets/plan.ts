import { pathOf } from "../href.ts";
import { belowMount, ofMount } from "../methods/mount-paths.ts";
import { PARTS } from "../methods/parts.ts";
import { curlCommand, type FormRequest, labelOf, recordOf, terraformText } from "../records/commands.ts";
import type { RecordValue } from "../records/field.ts";
import type { Part } from "../records/part.ts";
import type { Preset, PresetPlace, PresetValues, Snippet } from "./preset.ts";

/** All texts of a login that is set up, and the requests that set it up. */
export interface LoginPlan {
  readonly place: PresetPlace;
  /** The policy that exists, or a first one, which allows a token to look itself up. Null where no text can have it. */
  readonly policy: string | null;
  readonly steps: readonly PlanStep[];
  /** The steps as commands of curl, without secrets. */
  readonly curl: string;
  readonly terraform: string;
  readonly snippets: readonly Snippet[];
  /** What the check of a login begins with. */
  readonly identity: string;
}

/** One request of a plan. */
export interface PlanStep {
  readonly what: "policy" | "mount" | "config" | "role";
  /** What it does, for people. */
  readonly label: string;
  readonly request: FormRequest;
}

/** What the installation has already. */
export interface Existing {
  /** Types of the auth mounts, by their path with a slash at the end. */
  readonly mounts: Readonly<Record<string, string>>;
  readonly policies: readonly string[];
  /** Whom the mount of the plan trusts, as its configuration says; null where there is no mount, or nothing is set. */
  readonly trust: RecordValue | "hidden" | null;
}

const POLICY = `# What a token of this login may do: add the paths that it needs.
path "auth/token/lookup-self" {
  capabilities = ["read"]
}
`;

interface PlanOptions {
  /** The origin that clients reach. */
  readonly address: string;
  /** Absent: the usual path of the preset. */
  readonly mount?: string;
  /** True: the mount exists, and no command enables it again, which would be refused. */
  readonly hasMount?: boolean;
  /** True: the mount has whom it trusts, which stays as it is. */
  readonly hasTrust?: boolean;
  /** The text of the policy that exists; null where it may not be read, undefined where there is none. */
  readonly policy?: string | null | undefined;
}

/**
 * The plan of a preset for values without a mistake. Its texts have a policy that exists as it is, so that they change
 * nothing of it, and leave one out that may not be read.
 */
export function planOf(preset: Preset, values: PresetValues, options: PlanOptions): LoginPlan {
  const { address, mount = preset.mount, hasMount = false, hasTrust = false, policy = POLICY } = options;
  const name = preset.roleOf?.(values) ?? values.role ?? "";
  const place: PresetPlace = { address, mount, role: name };
  const role = { ...preset.role(values, place), token_policies: [name] };
  const text = policy ?? POLICY;
  const steps = stepsOf(preset, place, text, preset.config(values, place), role);
  const config = preset.config(withoutSecrets(preset, values), place);
  const shown = stepsOf(preset, place, text, config, role).filter(
    ({ what }) =>
      !(what === "policy" && policy === null) &&
      !(what === "mount" && hasMount) &&
      !(what === "config" && hasMount && hasTrust),
  );
  return {
    place,
    policy,
    steps,
    curl: shown.map(({ label, request }) => `# ${label}\n${curlCommand(request)}`).join("\n"),
    terraform: terraformOf(preset, place, policy, config, role, { hasMount, hasTrust: hasMount && hasTrust }),
    snippets: preset.snippets(values, place),
    identity: preset.identity(values, place),
  };
}

/** Texts have the name of a secret in its place. */
function withoutSecrets({ fields }: Preset, values: PresetValues): PresetValues {
  const secrets = fields.filter(({ isSecret }) => isSecret).map(({ name, label }) => [name, `<${label}>`] as const);
  return { ...values, ...Object.fromEntries(secrets) };
}

/** Where a method keeps whom it trusts, below its mount. */
export const configPath = ({ method }: Pick<Preset, "method">): string =>
  method === "aws" ? "config/client" : "config";

function stepsOf(
  { method, settings }: Preset,
  place: PresetPlace,
  policy: string,
  config: RecordValue,
  role: RecordValue,
): PlanStep[] {
  const { mount, role: name } = place;
  return [
    {
      what: "policy",
      label: `The policy ${name}`,
      request: { path: `sys/policies/acl/${pathOf(name)}`, body: { policy } },
    },
    {
      what: "mount",
      label: `The method ${method} at auth/${mount}/`,
      request: { path: ofMount(mount), body: { type: method, ...(settings && { config: settings }) } },
    },
    {
      what: "config",
      label: "Whom it trusts",
      request: { path: belowMount(mount, configPath({ method })), body: config },
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
 * same type and what it trusts.
 */
export function stepsLeft({ steps, place }: LoginPlan, { method }: Preset, { mounts, policies, trust }: Existing) {
  const type = mounts[`${place.mount}/`];
  const isTaken = type !== undefined && type !== method;
  const hasPolicy = policies.includes(place.role.toLowerCase());
  const kept = (what: PlanStep["what"]): boolean =>
    (what === "policy" && hasPolicy) ||
    (what === "mount" && type !== undefined) ||
    (what === "config" && type !== undefined && trust !== null);
  const other = otherTrust(steps.find(({ what }) => what === "config")?.request.body ?? {}, trust);
  const where = `auth/${place.mount}/`;
  return {
    problem: isTaken
      ? `${where} is a method of the type ${type}: choose another path.`
      : other !== undefined
        ? `${where} trusts ${other}: choose another path.`
        : "",
    left: steps.filter(({ what }) => !kept(what)),
    kept: steps.filter(({ what }) => kept(what)),
  };
}

/** What a mount trusts in the place of what a plan would have it trust; secrets are in no answer. */
function otherTrust(wanted: RecordValue, trust: Existing["trust"]): string | undefined {
  if (trust === null || trust === "hidden") return undefined;
  const texts = Object.entries(wanted)
    .filter(([name]) => name !== "default_role")
    .map(([name, value]) => [value, trust[name]] as const);
  const [, other] = texts.find(([value, set]) => typeof set === "string" && set !== "" && set !== value) ?? [];
  return typeof other === "string" ? other : undefined;
}

const NO_FIELDS: Extract<Part, { kind: "settings" }>["groups"] = [];

function terraformOf(
  preset: Preset,
  { mount, role: name }: PresetPlace,
  policy: string | null,
  config: RecordValue,
  role: RecordValue,
  { hasMount, hasTrust }: Required<Pick<PlanOptions, "hasMount" | "hasTrust">>,
): string {
  const parts = PARTS[preset.method] ?? [];
  const roles = parts.find((part) => part.kind === "collection" && part.part === "roles");
  const settings = parts.find((part) => part.kind === "settings" && part.path === configPath(preset));
  const fieldsOf = (part: Part | undefined) =>
    (part && "groups" in part ? part.groups : NO_FIELDS).flatMap(({ fields }) => fields);
  const resourceOf = (part: Part | undefined) => (part && "terraform" in part ? part.terraform : undefined);
  const texts: string[] = policy === null ? [] : [policyResource(name, policy)];
  const ofConfig = resourceOf(settings);
  const isOne = ofConfig?.mount === "path";
  const label = labelOf(mount);
  // One resource of a method can be its mount and whom it trusts.
  const mountType = isOne ? ofConfig.type : "vault_auth_backend";
  const isKept = hasMount && (!isOne || hasTrust);
  if (isKept)
    texts.push(`# The method is there already.\ndata "vault_auth_backend" "${label}" {\n  path = "${mount}"\n}\n`);
  else if (hasMount)
    texts.push(
      `# The method is there already, and trusts nobody yet.\nimport {\n  to = ${mountType}.${label}\n  id = "${mount}"\n}\n`,
    );
  else if (!isOne)
    texts.push(terraformText({ resource: { type: mountType } }, [], { type: preset.method, path: mount }));
  // References have Terraform make the resources in their order.
  const references = {
    backend: `${isKept ? "data.vault_auth_backend" : mountType}.${label}.path`,
    ...(policy !== null && { token_policies: `[vault_policy.${labelOf(name)}.name]` }),
  };
  if (ofConfig && !hasTrust) {
    const { resource, given } = recordOf(ofConfig, mount);
    const type = preset.method === "oidc" ? { type: preset.method } : {};
    const record = { resource, given: { ...given, ...type }, references };
    texts.push(withTune(terraformText(record, fieldsOf(settings), config), preset));
  }
  const ofRole = resourceOf(roles);
  if (ofRole) texts.push(terraformText({ ...recordOf(ofRole, mount, name), references }, fieldsOf(roles), role));
  return texts.join("\n");
}

/** A policy as a here-document, in which two characters would begin a template. */
function policyResource(name: string, policy: string): string {
  const text = policy.trimEnd().replace(/[$%](?=\{)/g, "$&$&");
  return `resource "vault_policy" "${labelOf(name)}" {\n  name   = "${name}"\n  policy = <<-HCL\n${text.replace(/^/gm, "    ")}\n  HCL\n}\n`;
}

/** A resource of an auth mount with how the mount is enabled. */
function withTune(resource: string, { settings = {} }: Preset): string {
  const lines = Object.entries(settings).map(([name, value]) => `    ${name} = "${value}"\n`);
  return lines.length === 0 ? resource : resource.replace(/\}\n$/, `  tune {\n${lines.join("")}  }\n}\n`);
}
