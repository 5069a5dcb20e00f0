import type { Round } from "../round.ts";
import { type Kind, someFields } from "../values.ts";

const ENTITY: Readonly<Record<string, Kind>> = { metadata: "pairs", policies: "policies", disabled: "bool" };
const GROUP: Readonly<Record<string, Kind>> = { metadata: "pairs", policies: "policies" };

/** Entities, aliases and groups: made, changed, looked up and deleted. */
export async function identity(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const mounts = await round.ask("GET sys/auth/token", { method: "GET", path: "sys/auth/token" });
  round.keep("mount", mounts, "data", "accessor");
  const name = `${prefix}E`;
  const made = await round.ask("POST identity/entity", {
    method: "POST",
    path: choices.pick(["identity/entity", `identity/entity/name/${name}`]),
    body: { name, ...someFields(choices, ENTITY, 0.5) },
  });
  if (!round.keep(`${prefix}e`, made, "data", "id")) return;
  const id = `{${prefix}e}`;
  const alias = {
    name: `${prefix}Alias`,
    canonical_id: choices.pick([id, id, "none"]),
    mount_accessor: choices.pick(["{mount}", "{mount}", "none"]),
  };
  const aliased = await round.ask("POST identity/entity-alias", {
    method: "POST",
    path: "identity/entity-alias",
    body: alias,
  });
  round.keep(`${prefix}a`, aliased, "data", "id");
  await round.ask("GET identity/entity-alias/id", { method: "GET", path: `identity/entity-alias/id/{${prefix}a}` });
  await round.ask("POST identity/entity-alias", { method: "POST", path: "identity/entity-alias", body: alias });
  for (let i = 0; i < 3; i++) {
    const path = choices.pick([
      `identity/entity/id/${id}`,
      `identity/entity/name/${name.toUpperCase()}`,
      "identity/entity",
    ]);
    const body = { ...someFields(choices, ENTITY, 0.5), ...(path === "identity/entity" && { name }) };
    await round.ask("POST identity/entity again", { method: "POST", path, body });
    await round.ask("GET identity/entity/id", { method: "GET", path: `identity/entity/id/${id}` });
  }
  await groups(round, id);
  for (const body of [
    { name },
    { id },
    { alias_id: `{${prefix}a}` },
    {},
    { name, id },
    { alias_name: `${prefix}alias`, alias_mount_accessor: "{mount}" },
    { alias_name: "x" },
  ]) {
    await round.ask("POST identity/lookup/entity", { method: "POST", path: "identity/lookup/entity", body });
  }
  await round.ask("DELETE identity/entity", { method: "DELETE", path: `identity/entity/id/${id}` });
  await round.ask("GET identity/entity/name", { method: "GET", path: `identity/entity/name/${name}` });
}

async function groups(round: Round, entity: string): Promise<void> {
  const { choices, prefix } = round;
  const name = `${prefix}G`;
  const body = {
    name,
    type: choices.pick(["internal", "external", "", "other"]),
    member_entity_ids: choices.pick([[entity], [], ["none"]]),
    ...someFields(choices, GROUP, 0.5),
  };
  const made = await round.ask(`POST identity/group ${body.type}`, { method: "POST", path: "identity/group", body });
  if (!round.keep(`${prefix}g`, made, "data", "id")) return;
  const id = `{${prefix}g}`;
  const alias = { name: `${prefix}ga`, mount_accessor: choices.pick(["{mount}", "{mount}", "none"]), canonical_id: id };
  const aliased = await round.ask(`POST identity/group-alias of ${body.type}`, {
    method: "POST",
    path: "identity/group-alias",
    body: alias,
  });
  if (round.keep(`${prefix}ga`, aliased, "data", "id")) {
    await round.ask("GET identity/group-alias/id", { method: "GET", path: `identity/group-alias/id/{${prefix}ga}` });
    const lookup = { alias_name: alias.name, alias_mount_accessor: "{mount}" };
    await round.ask("POST identity/lookup/group by alias", {
      method: "POST",
      path: "identity/lookup/group",
      body: lookup,
    });
  }
  await round.ask("GET identity/group/id", { method: "GET", path: `identity/group/id/${id}` });
  const change = { name: choices.pick([name, `${name}2`]), ...someFields(choices, GROUP, 0.5) };
  await round.ask("POST identity/group/id", { method: "POST", path: `identity/group/id/${id}`, body: change });
  await round.ask("GET identity/group/id", { method: "GET", path: `identity/group/id/${id}` });
  for (const asked of [{ id }, { name }, {}])
    await round.ask("POST identity/lookup/group", { method: "POST", path: "identity/lookup/group", body: asked });
  await round.ask("DELETE identity/group/id", { method: "DELETE", path: `identity/group/id/${id}` });
  await round.ask("GET identity/group/id", { method: "GET", path: `identity/group/id/${id}` });
}
