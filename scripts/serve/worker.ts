import type { Unstable_Config } from "wrangler";
import { CLIENT_ADDRESS_HEADER } from "../../gateway/headers.ts";
import { err, ok, type Result } from "../../src/base/result.ts";

/** A class of Durable Objects as workerd has to know it. */
export interface ObjectClass {
  readonly className: string;
  /** Where its data are: the name of the class when it was new, so that they stay with it when it is renamed. */
  readonly origin: string;
  readonly sqlite: boolean;
}

/** What the Worker finds in its `env`. */
export type Binding =
  | { readonly kind: "objects"; readonly name: string; readonly className: string }
  | { readonly kind: "text"; readonly name: string; readonly value: string }
  | { readonly kind: "json"; readonly name: string; readonly value: string }
  /** Read by workerd from its environment, so that no secret is written to a file. */
  | { readonly kind: "environment"; readonly name: string }
  /** The Worker itself, or one of its entrypoints. */
  | { readonly kind: "self"; readonly name: string; readonly entrypoint: string | undefined };

/** The Worker in the terms of workerd. */
export interface WorkerModel {
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  readonly classes: readonly ObjectClass[];
  readonly bindings: readonly Binding[];
  /** Bindings of wrangler.toml that exist only on Cloudflare's network; the Worker finds them undefined. */
  readonly leftOut: readonly string[];
}

/** Settings that follow from how a server on one machine is made. The environment can't change them. */
export const SELF_HOSTED = { CLIENT_ADDRESS_HEADER, ONE_PROCESS: "true" } as const;

/** The parts of wrangler.toml that are used here. */
export type Definition = Pick<
  Unstable_Config,
  "name" | "compatibility_date" | "compatibility_flags" | "durable_objects" | "migrations" | "vars" | "services"
>;

/**
 * Translates wrangler.toml.
 *
 * @param settings names of the settings that the environment has; they override `[vars]`
 */
export function workerModel(definition: Definition, settings: readonly string[]): Result<WorkerModel, string> {
  if (definition.compatibility_date === undefined) return err("wrangler.toml has no compatibility_date");
  const classes = objectClasses(definition.migrations);

  const objects: Binding[] = [];
  for (const { name, class_name: className, script_name: script } of definition.durable_objects.bindings) {
    if (script !== undefined && script !== definition.name) return err(`${name} belongs to another Worker, ${script}`);
    if (!classes.some((known) => known.className === className)) {
      return err(`no migration in wrangler.toml makes the class ${className}`);
    }
    objects.push({ kind: "objects", name, className });
  }

  const entrypoints: Binding[] = [];
  for (const { binding: name, service, entrypoint } of definition.services ?? []) {
    if (service !== definition.name) return err(`${name} needs another Worker, ${service}, which is not here`);
    entrypoints.push({ kind: "self", name, entrypoint });
  }

  return ok({
    compatibilityDate: definition.compatibility_date,
    compatibilityFlags: definition.compatibility_flags,
    classes,
    bindings: [...objects, ...entrypoints, ...variables(definition.vars, settings)],
    leftOut: networkBindings(definition),
  });
}

/** The classes that are left when all migrations have been applied in order. */
export function objectClasses(migrations: Definition["migrations"]): ObjectClass[] {
  const classes = new Map<string, ObjectClass>();
  const origins = new Set<string>();
  const add = (className: string, tag: string, sqlite: boolean): void => {
    // A later class of the same name must not find the data of the earlier one.
    const origin = origins.has(className) ? `${className}-${tag}` : className;
    origins.add(origin);
    classes.set(className, { className, origin, sqlite });
  };
  for (const migration of migrations) {
    for (const className of migration.new_classes ?? []) add(className, migration.tag, false);
    for (const className of migration.new_sqlite_classes ?? []) add(className, migration.tag, true);
    for (const { from, to } of migration.renamed_classes ?? []) {
      const renamed = classes.get(from);
      classes.delete(from);
      if (renamed !== undefined) classes.set(to, { ...renamed, className: to });
    }
    for (const className of migration.deleted_classes ?? []) classes.delete(className);
  }
  return [...classes.values()];
}

function variables(vars: Definition["vars"], settings: readonly string[]): Binding[] {
  const written = Object.entries(vars).filter(([name]) => !settings.includes(name));
  return [
    ...written.map(([name, value]): Binding => {
      return typeof value === "string"
        ? { kind: "text", name, value }
        : { kind: "json", name, value: JSON.stringify(value) };
    }),
    ...settings.map((name): Binding => ({ kind: "environment", name })),
  ];
}

/** Every other list in wrangler.toml whose members name a binding: storage, queues, rate limits and so on. */
function networkBindings(definition: Definition): string[] {
  return Object.entries(definition)
    .flatMap(([section, value]): readonly unknown[] => (section !== "services" && Array.isArray(value) ? value : []))
    .flatMap((item) => {
      const isNamed = typeof item === "object" && item !== null && "binding" in item;
      return isNamed && typeof item.binding === "string" ? [item.binding] : [];
    });
}
