import { nameKey } from "../base/name.ts";
import type { AllGroups, GroupState } from "./model.ts";

/** All groups of one state. */
export class Groups {
  readonly revision: number;
  readonly #byId: ReadonlyMap<string, GroupState>;
  /** Ids of external groups by the mount and the name of their alias. */
  readonly #byAlias: ReadonlyMap<string, string>;

  constructor({ revision, groups }: AllGroups) {
    this.revision = revision;
    this.#byId = new Map(groups.map((state) => [state.group.id, state]));
    this.#byAlias = new Map(
      groups.flatMap(({ group, alias }) => (alias ? [[aliasKey(alias.mountAccessor, alias.name), group.id]] : [])),
    );
  }

  /** Those of the groups that exist, with all that they are in. Ends also if groups should form a circle. */
  above(ids: readonly string[]): GroupState[] {
    const found = new Map<string, GroupState>();
    for (let level = ids; level.length > 0; ) {
      const states = level.flatMap((id) => this.#byId.get(id) ?? []);
      for (const state of states) found.set(state.group.id, state);
      level = [...new Set(states.flatMap(({ parentIds }) => parentIds))].filter((id) => !found.has(id));
    }
    return [...found.values()];
  }

  /** Names of those that give their members this policy. */
  giving(policy: string): string[] {
    return [...this.#byId.values()].filter(({ policies }) => policies.includes(policy)).map(({ group }) => group.name);
  }

  /** True when an entity in these groups is in exactly those external ones of a mount that the mount knows by these names. */
  areThoseOf(mountAccessor: string, names: readonly string[], groupIds: readonly string[]): boolean {
    const named = this.#named(mountAccessor, names);
    const ofMount = groupIds.filter((id) => this.#isOf(mountAccessor, id));
    return ofMount.length === named.size && ofMount.every((id) => named.has(id));
  }

  /** The groups of an entity in `groupIds` after a login at a mount that says it is in these. */
  afterLogin(mountAccessor: string, names: readonly string[], groupIds: readonly string[]): string[] {
    return [...groupIds.filter((id) => !this.#isOf(mountAccessor, id)), ...this.#named(mountAccessor, names)];
  }

  #named(mountAccessor: string, names: readonly string[]): ReadonlySet<string> {
    return new Set(names.flatMap((name) => this.#byAlias.get(aliasKey(mountAccessor, name)) ?? []));
  }

  #isOf(mountAccessor: string, id: string): boolean {
    return this.#byId.get(id)?.alias?.mountAccessor === mountAccessor;
  }
}

function aliasKey(mountAccessor: string, name: string): string {
  return JSON.stringify([mountAccessor, nameKey(name)]);
}
