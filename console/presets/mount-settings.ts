import type { RecordValue } from "../records/field.ts";
import type { Preset, PresetPlace, PresetValues } from "./preset.ts";

/** The settings of a mount as a read answers them, without secrets; "hidden" when they may not be read. */
export type MountSettings = RecordValue | "hidden" | null;

/** Replaces secrets by the labels of their fields, for texts. */
export function withoutSecrets({ fields }: Preset, values: PresetValues): PresetValues {
  const secrets = fields.filter(({ isSecret }) => isSecret).map(({ name, label }) => [name, `<${label}>`] as const);
  return { ...values, ...Object.fromEntries(secrets) };
}

/** The settings that a plan writes to its mount: the existing ones with the typed secret. */
export function settingsBody(preset: Preset, values: PresetValues, place: PresetPlace, kept: RecordValue | undefined) {
  const wanted = preset.settingsOfMount?.body(values, place);
  if (wanted === undefined || kept === undefined) return wanted;
  const secrets = secretNames(preset, values, place);
  return {
    ...Object.fromEntries(Object.entries(kept).filter(([name, value]) => !name.endsWith("_set") && !isBlank(value))),
    ...Object.fromEntries(Object.entries(wanted).filter(([name]) => secrets.has(name))),
  };
}

/** True for a value that has the same effect as an absent one. */
const isBlank = (value: unknown): boolean =>
  value === "" || value === null || (typeof value === "object" && Object.keys(value).length === 0);

/** A placeholder that shows which settings hold a secret. */
const MARK = "a secret";

/** The names of the settings that hold a secret. */
function secretNames(preset: Preset, values: PresetValues, place: PresetPlace): ReadonlySet<string> {
  const secrets = preset.fields.flatMap(({ name, isSecret }) => (isSecret ? [[name, MARK] as const] : []));
  const marked = preset.settingsOfMount?.body({ ...values, ...Object.fromEntries(secrets) }, place) ?? {};
  return new Set(Object.keys(marked).filter((name) => marked[name] === MARK));
}

/** Typed settings that an existing mount would not use. */
export interface UnusedSettings {
  /** The labels of the unused fields; empty when the preset itself has the settings. */
  readonly labels: readonly string[];
  /** The settings of the mount as the end of a sentence that begins with "It"; null when they may not be read. */
  readonly found: string | null;
  /** True when the typed secret can be set, because all other settings match. */
  readonly canSetSecret: boolean;
  /** True when the mount has no such secret yet. */
  readonly lacksSecret: boolean;
}

/** The typed values that would not be used at a mount with these settings; null when there are none. */
export function unusedSettings(
  preset: Preset,
  values: PresetValues,
  place: PresetPlace,
  settings: MountSettings,
): UnusedSettings | null {
  const { settingsOfMount, fields } = preset;
  const typed = fields.filter(({ isOfMount }) => isOfMount === true);
  if (settingsOfMount === undefined || settings === null) return null;
  const isSame = settings !== "hidden" && hasSettingsOf(settings, preset, values, place);
  const unused = isSame ? typed.filter(({ isSecret }) => isSecret === true) : typed;
  // A preset that knows its issuer has no field for it, and its mount may have other settings all the same.
  if (unused.length === 0 && isSame) return null;
  return {
    labels: unused.map(({ label }) => label),
    found: settings === "hidden" ? null : settingsOfMount.found(settings),
    canSetSecret: isSame,
    lacksSecret: isSame && settingsOfMount.lacksSecret?.(settings) === true,
  };
}

/** True when this page wrote the typed settings of the mount. */
export function writesSettings(
  preset: Preset,
  values: PresetValues,
  place: PresetPlace,
  sent: RecordValue | undefined,
): boolean {
  return sent !== undefined && hasAll(sent, preset.settingsOfMount?.body(values, place) ?? {});
}

/** True when the settings of a mount are the typed ones, as far as a read shows them. */
function hasSettingsOf(settings: RecordValue, preset: Preset, values: PresetValues, place: PresetPlace): boolean {
  const secrets = secretNames(preset, values, place);
  const wanted = Object.entries(preset.settingsOfMount?.body(values, place) ?? {});
  return hasAll(settings, Object.fromEntries(wanted.filter(([name]) => !secrets.has(name))));
}

/** True when the settings have all the wanted values, except that of the default role. */
const hasAll = (settings: RecordValue, wanted: RecordValue): boolean =>
  Object.entries(wanted).every(([name, value]) => name === OF_ROLE || isSameText(settings[name], value));

/** The role of logins that name no role, which an existing mount keeps. */
const OF_ROLE = "default_role";

/** URLs are equal with or without a slash at the end. */
const isSameText = (one: unknown, other: unknown): boolean =>
  String(one ?? "").replace(/\/$/, "") === String(other ?? "").replace(/\/$/, "");

/**
 * The setting of a mount that contradicts a plan; undefined without one. Secrets are not compared, since no answer
 * contains them.
 */
export function conflictOf(wanted: RecordValue, settings: MountSettings): string | undefined {
  if (settings === null || settings === "hidden") return undefined;
  const texts = Object.entries(wanted)
    .filter(([name]) => name !== OF_ROLE)
    .map(([name, value]) => [value, settings[name]] as const);
  // A mount with keys of its own has the issuer that it takes tokens of in this setting.
  const { oidc_discovery_url: issuer } = wanted;
  if (issuer !== undefined) texts.push([issuer, settings.bound_issuer]);
  const [, other] =
    texts.find(([value, set]) => typeof set === "string" && set !== "" && !isSameText(set, value)) ?? [];
  return typeof other === "string" ? other : undefined;
}
