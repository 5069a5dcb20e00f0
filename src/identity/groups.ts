import { waitUntil } from "cloudflare:workers";
import { IsolateCopy } from "../base/isolate-copy.ts";
import { nameKey } from "../base/name.ts";
import { normalizePolicyNames } from "../policy/name.ts";
import { maxCopyAgeMs } from "../system/copy-age.ts";
import type { IdentityEnv } from "./env.ts";
import type { AllGroups, EntityState, EntityView, GroupState } from "./model.ts";
import { identityOf } from "./stubs.ts";

/**
 * Returns an entity as requests need it.
 *
 * @param groups all groups; null for an entity that is in none.
 * @returns null when a group of the entity was tampered with. Its policies could deny what others grant, so the entity
 *   can't be used without them.
 */
export function entityView(state: EntityState, groups: Groups | null): EntityView | null {
  const { revision, disabled, policies, entity, groupIds } = state;
  const above = groups?.above(groupIds) ?? [];
  const all = policiesWith(policies, above);
  return (
    all && {
      revision: groups ? `${revision}.${groups.revision}` : revision,
      disabled,
      policies: all,
      entity,
      groups: above.map(({ group }) => group).sort((a, b) => (a.id < b.id ? -1 : 1)),
    }
  );
}

/** Returns the policies of an entity and of its groups; null when one of the groups was tampered with. */
export function policiesWith(own: readonly string[], above: readonly GroupState[]): readonly string[] | null {
  if (above.some(({ tampered }) => tampered)) return null;
  return normalizePolicyNames([...own, ...above.flatMap(({ policies }) => policies)]);
}

/** All groups at one revision. */
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

  /** Returns the groups of `ids` that exist and all groups above them. Terminates even if groups form a cycle. */
  above(ids: readonly string[]): GroupState[] {
    const found = new Map<string, GroupState>();
    for (let level = ids; level.length > 0; ) {
      const states = level.flatMap((id) => this.#byId.get(id) ?? []);
      for (const state of states) found.set(state.group.id, state);
      level = [...new Set(states.flatMap(({ parentIds }) => parentIds))].filter((id) => !found.has(id));
    }
    return [...found.values()];
  }

  /** Returns the names of the groups that have this policy. */
  giving(policy: string): string[] {
    return [...this.#byId.values()].filter(({ policies }) => policies.includes(policy)).map(({ group }) => group.name);
  }

  /** Returns the group ids of an entity after a login at a mount whose method names these groups. */
  afterLogin(mountAccessor: string, names: readonly string[], groupIds: readonly string[]): ReadonlySet<string> {
    const others = groupIds.filter((id) => this.#byId.get(id)?.alias?.mountAccessor !== mountAccessor);
    return new Set([...others, ...names.flatMap((name) => this.#byAlias.get(aliasKey(mountAccessor, name)) ?? [])]);
  }
}

function aliasKey(mountAccessor: string, name: string): string {
  return JSON.stringify([mountAccessor, nameKey(name)]);
}

/** This isolate's copy of all groups, under one key. */
const copies = new IsolateCopy<"groups", Groups>(1);

/** Returns all groups, no older than `maxAgeMs` (default: POLICY_CACHE_SECONDS). */
export async function loadGroups(env: IdentityEnv, maxAgeMs = maxCopyAgeMs(env)): Promise<Groups> {
  const read = async () => {
    const before = copies.copied("groups")?.value;
    const answer = await identityOf(env).allGroups(before?.revision ?? null);
    return answer ? new Groups(answer) : before;
  };
  const groups = await copies.load("groups", maxAgeMs, read, waitUntil);
  if (!groups) throw new Error("the directory answered nothing to an isolate that knows nothing");
  return groups;
}

/** Drops this isolate's copy of the groups. */
export function forgetGroups(): void {
  copies.clear();
}
