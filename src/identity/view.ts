import { normalizePolicyNames, ROOT_POLICY } from "../policy/name.ts";
import type { TemplateAlias, TemplateGroup } from "../policy/template.ts";
import { type EntityRow, metadataOf, namesOf } from "./entity-store.ts";
import type { GroupRow } from "./group-store.ts";
import type { AliasRecord, EntityView } from "./model.ts";

/** An entity as requests need it, from its row, its aliases and all groups that it is in. */
export function entityView(
  row: EntityRow,
  revision: string,
  aliases: readonly AliasRecord[],
  groups: readonly GroupRow[],
): EntityView {
  const names = [...namesOf(row.policies), ...groups.flatMap((group) => namesOf(group.policies))];
  return {
    revision,
    disabled: row.disabled === 1,
    // No write accepts `root`. This filter is a second line of defence.
    policies: normalizePolicyNames(names.filter((name) => name !== ROOT_POLICY)),
    entity: {
      id: row.id,
      name: row.name,
      metadata: metadataOf(row.metadata),
      aliases: Object.fromEntries(aliases.map((alias) => [alias.mountAccessor, templateAlias(alias)])),
    },
    groups: groups.map(templateGroup),
  };
}

function templateAlias({ id, name, metadata, customMetadata }: AliasRecord): TemplateAlias {
  return { id, name, metadata, customMetadata };
}

function templateGroup({ id, name, metadata }: GroupRow): TemplateGroup {
  return { id, name, metadata: metadataOf(metadata) };
}
