import type { Unstable_Config } from "wrangler";
import { CLIENT_ADDRESS_HEADER } from "../../gateway/headers.ts";
import { err, ok, type Result } from "../../src/base/result.ts";

/** A class of Durable Objects, as workerd is configured. */
export interface ObjectClass {
  readonly className: string;
  /** Names the directory of its data: the first name of the class, so that a renamed class keeps its data. */
  readonly origin: string;
  readonly sqlite: boolean;
}

/** A member of the Worker's `env`. */
export type Binding =
  | { readonly kind: "objects"; readonly name: string; readonly className: string }
  | { readonly kind: "text"; readonly name: string; readonly value: string }
  | { readonly kind: "json"; readonly name: string; readonly value: string }
  /** Read by workerd from its environment, so that no secret is written to a file. */
  | { readonly kind: "environment"; readonly name: string }
  /** The Worker itself, or one of its entrypoints. */
  | { readonly kind: "self"; readonly name: string; readonly entrypoint: string | undefined };

/** The Worker in the terms of workerd's configuration. */
export interface WorkerModel {
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  readonly classes: readonly ObjectClass[];
  readonly bindings: readonly Binding[];
  /** Bindings that exist only on Cloudflare's network, so they are undefined in the Worker. */
  readonly leftOut: readonly string[];
}

/** Settings of a server that is one process. The environment can't change them. */
export const SELF_HOSTED = { CLIENT_ADDRESS_HEADER, ONE_PROCESS: "true" } as const;

/** Settings of a node of a cluster. The environment can't change them. */
export const CLUSTER_NODE = { CLIENT_ADDRESS_HEADER, CLUSTER: "true" } as const;

/** The parts of wrangler.toml that are used here. */
export type Definition = Pick<
  Unstable_Config,
  "name" | "compatibility_date" | "compatibility_flags" | "durable_objects" | "migrations" | "vars" | "services"
>;

/**
 * Translates wrangler.toml.
 *
 * @param settings names of settings in the environment; they override `[vars]`
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

/** The classes after all migrations, applied in order. */
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

/** Names of bindings in every other list of wrangler.toml: storage, queues, rate limits. */
function networkBindings(definition: Definition): string[] {
  return Object.entries(definition)
    .flatMap(([section, value]): readonly unknown[] => (section !== "services" && Array.isArray(value) ? value : []))
    .flatMap((item) => {
      const isNamed = typeof item === "object" && item !== null && "binding" in item;
      return isNamed && typeof item.binding === "string" ? [item.binding] : [];
    });
}
