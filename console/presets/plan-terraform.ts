import { PARTS } from "../methods/parts-by-type.ts";
import type { RecordValue } from "../records/field.ts";
import type { Part } from "../records/part.ts";
import { labelOf, recordOf, terraformText } from "../records/request-commands.ts";
import { configPath } from "./config-path.ts";
import type { Preset, PresetPlace } from "./preset.ts";

const NO_FIELDS: Extract<Part, { kind: "settings" }>["groups"] = [];

interface TerraformOptions {
  /** True when the mount exists: it is not made again. */
  readonly hasMount: boolean;
  /** True when the mount has settings, which stay as they are. */
  readonly hasSettings: boolean;
}

/** A plan as resources of the Terraform provider. @param policy the text that it writes; null when it writes none */
export function terraformOf(
  preset: Preset,
  { mount, role: name }: PresetPlace,
  policy: string | null,
  settings: RecordValue | undefined,
  role: RecordValue,
  { hasMount, hasSettings }: TerraformOptions,
): string {
  const parts = PARTS[preset.method] ?? [];
  const roles = parts.find((part) => part.kind === "collection" && part.part === "roles");
  const ofMount = parts.find((part) => part.kind === "settings" && part.path === configPath(preset));
  const fieldsOf = (part: Part | undefined) =>
    (part && "groups" in part ? part.groups : NO_FIELDS).flatMap(({ fields }) => fields);
  const resourceOf = (part: Part | undefined) => (part && "terraform" in part ? part.terraform : undefined);
  const texts: string[] = policy === null ? [] : [policyResource(name, policy)];
  const ofConfig = resourceOf(ofMount);
  const isOne = ofConfig?.mount === "path";
  const label = labelOf(mount);
  // Some resources are both a mount and its settings.
  const mountType = isOne ? ofConfig.type : "vault_auth_backend";
  const isKept = hasMount && (!isOne || hasSettings);
  if (isKept)
    texts.push(`# The method is there already.\ndata "vault_auth_backend" "${label}" {\n  path = "${mount}"\n}\n`);
  else if (hasMount)
    texts.push(
      `# The method is there already, and has no settings yet.\nimport {\n  to = ${mountType}.${label}\n  id = "${mount}"\n}\n`,
    );
  else if (!isOne)
    texts.push(terraformText({ resource: { type: mountType } }, [], { type: preset.method, path: mount }));
  // References make Terraform create the resources in the right order.
  const references = {
    backend: `${isKept ? "data.vault_auth_backend" : mountType}.${label}.path`,
    ...(policy !== null && { token_policies: `[vault_policy.${labelOf(name)}.name]` }),
  };
  if (ofConfig && settings && !hasSettings) {
    const { resource, given } = recordOf(ofConfig, mount);
    const type = preset.method === "oidc" ? { type: preset.method } : {};
    const record = { resource, given: { ...given, ...type }, references };
    const known = new Set(fieldsOf(ofMount).map(({ name: field }) => field));
    const values = Object.fromEntries(Object.entries(settings).filter(([field]) => known.has(field)));
    texts.push(withTune(terraformText(record, fieldsOf(ofMount), values), preset));
  }
  const ofRole = resourceOf(roles);
  if (ofRole) texts.push(terraformText({ ...recordOf(ofRole, mount, name), references }, fieldsOf(roles), role));
  return texts.join("\n");
}

/** A policy as a here-document, with `${` and `%{` escaped, as they begin templates. */
function policyResource(name: string, policy: string): string {
  const text = policy.trimEnd().replace(/[$%](?=\{)/g, "$&$&");
  return `resource "vault_policy" "${labelOf(name)}" {\n  name   = "${name}"\n  policy = <<-HCL\n${text.replace(/^/gm, "    ")}\n  HCL\n}\n`;
}

/** Adds the settings with which the mount is enabled to its resource. */
function withTune(resource: string, { settings = {} }: Preset): string {
  const lines = Object.entries(settings).map(([name, value]) => `    ${name} = "${value}"\n`);
  return lines.length === 0 ? resource : resource.replace(/\}\n$/, `  tune {\n${lines.join("")}  }\n}\n`);
}
