import type { Round } from "../round.ts";
import { type Kind, someFields } from "../values.ts";

const ENTITY: Readonly<Record<string, Kind>> = { metadata: "pairs", policies: "policies", disabled: "bool" };
const GROUP: Readonly<Record<string, Kind>> = { metadata: "pairs", policies: "policies" };

/** Entities, aliases and groups: made, changed, looked up and deleted. */
export async function identity(round: Round): Promise<void> {
  const { choices, prefix } = round;
  round.keep("mount", await round.get("sys/auth/token"), "data", "accessor");
  const name = `${prefix}E`;
  const place = choices.pick(["identity/entity", `identity/entity/name/${name}`]);
  const made = await round.post(place, { name, ...someFields(choices, ENTITY, 0.5) });
  if (!round.keep(`${prefix}e`, made, "data", "id")) return;
  const id = `{${prefix}e}`;
  const alias = {
    name: `${prefix}Alias`,
    canonical_id: choices.pick([id, id, "none"]),
    mount_accessor: choices.pick(["{mount}", "{mount}", "none"]),
  };
  round.keep(`${prefix}a`, await round.post("identity/entity-alias", alias), "data", "id");
  await round.get(`identity/entity-alias/id/{${prefix}a}`);
  await round.post("identity/entity-alias", alias);
  const places = [`identity/entity/id/${id}`, `identity/entity/name/${name.toUpperCase()}`, "identity/entity"] as const;
  for (let i = 0; i < 3; i++) {
    const path = choices.pick(places);
    await round.post(path, { ...someFields(choices, ENTITY, 0.5), ...(path === "identity/entity" && { name }) });
    await round.get(`identity/entity/id/${id}`);
  }
  await groups(round, id);
  const byAlias = { alias_name: `${prefix}alias`, alias_mount_accessor: "{mount}" };
  for (const body of [{ name }, { id }, { alias_id: `{${prefix}a}` }, {}, { name, id }, byAlias, { alias_name: "x" }]) {
    await round.post("identity/lookup/entity", body);
  }
  await round.delete(`identity/entity/id/${id}`);
  await round.get(`identity/entity/name/${name}`);
}

async function groups(round: Round, entity: string): Promise<void> {
  const { choices, prefix } = round;
  const name = `${prefix}G`;
  const made = await round.post("identity/group", {
    name,
    type: choices.pick(["internal", "external", "", "other"]),
    member_entity_ids: choices.pick([[entity], [], ["none"]]),
    ...someFields(choices, GROUP, 0.5),
  });
  if (!round.keep(`${prefix}g`, made, "data", "id")) return;
  const id = `{${prefix}g}`;
  const alias = { name: `${prefix}ga`, mount_accessor: choices.pick(["{mount}", "{mount}", "none"]), canonical_id: id };
  if (round.keep(`${prefix}ga`, await round.post("identity/group-alias", alias), "data", "id")) {
    await round.get(`identity/group-alias/id/{${prefix}ga}`);
    await round.post("identity/lookup/group", { alias_name: alias.name, alias_mount_accessor: "{mount}" });
  }
  const path = `identity/group/id/${id}`;
  await round.get(path);
  await round.post(path, { name: choices.pick([name, `${name}2`]), ...someFields(choices, GROUP, 0.5) });
  await round.get(path);
  for (const asked of [{ id }, { name }, {}]) await round.post("identity/lookup/group", asked);
  await round.delete(path);
  await round.get(path);
}
