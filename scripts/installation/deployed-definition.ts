import { err, ok, type Result } from "../../src/base/result.ts";

/** A part of wrangler.toml. */
export type Section = Readonly<Record<string, unknown>>;

/** Settings of the release: another value would change the program or lose data. */
const OF_THE_RELEASE = ["main", "build", "durable_objects", "migrations", "compatibility_date", "compatibility_flags"];

/** Settings of the build, and the environments, which are examples: an installation does not inherit them. */
const OF_THE_SOURCES = ["build", "minify", "upload_source_maps", "env"];

/**
 * The definition of a deployment: an installation's own settings over those of the release. Variables are merged by name, every other
 * setting replaces the release's. Environments of Wrangler inherit neither variables nor bindings, so each gets them here. The error is
 * for the operator.
 *
 * @param main path of the built Worker
 */
export function deployedDefinition(release: Section, own: Section, main: string): Result<Section, string> {
  const base = Object.fromEntries(Object.entries(release).filter(([name]) => !OF_THE_SOURCES.includes(name)));
  const { env = {}, ...settings } = own;
  const joined = joinSettings(base, settings);
  if (!joined.ok) return joined;
  const environments: Record<string, Section> = {};
  for (const [name, section] of Object.entries(sectionOf(env))) {
    const environment = joinSettings({ vars: base.vars, durable_objects: base.durable_objects }, sectionOf(section));
    if (!environment.ok) return err(`env.${name}: ${environment.error}`);
    environments[name] = environment.value;
  }
  return ok({ ...joined.value, main, no_bundle: true, ...(own.env !== undefined && { env: environments }) });
}

function joinSettings(base: Section, own: Section): Result<Section, string> {
  const fixed = OF_THE_RELEASE.find((name) => name in own);
  if (fixed !== undefined) return err(`${fixed} comes with the release: take it out of wrangler.toml`);
  return ok({ ...base, ...own, vars: { ...sectionOf(base.vars), ...sectionOf(own.vars) } });
}

function sectionOf(value: unknown): Section {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
