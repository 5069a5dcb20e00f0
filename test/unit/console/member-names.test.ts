import { expect, it } from "vitest";
import {
  cycleMistake,
  knownNames,
  memberMistake,
  offeredMembers,
  outsideOf,
  withMemberIds,
  withMemberNames,
} from "../../../console/identity/member-names.ts";

const ID = "64739bc4-1111-4222-8333-444455556666";
const known = {
  entity: knownNames([
    { id: "e1", name: "entity_01", called: "Ann" },
    { id: "e2", name: "entity_02", called: "Bob" },
    { id: "e3", name: "entity_03", called: "Bob" },
    { id: "e4", name: "entity_04", called: "Example, Dana" },
    { id: "e5", name: "robot", called: "robot" },
    { id: "e6", name: "eve", called: "eve" },
    { id: "e7", name: "entity_07", called: "eve" },
  ]),
  group: knownNames([{ id: "g1", name: "robots", called: "robots" }]),
};

it("shows the members of a group by names that only one has, and sends their ids", () => {
  const group = { name: "ops", member_entity_ids: ["e1", "e2", "e3", "e4", "e5", ID], member_group_ids: ["g1"] };
  const shown = withMemberNames(group, known);
  const names = ["Ann", "entity_02", "entity_03", "entity_04", "robot", ID];
  expect(shown).toEqual({ name: "ops", member_entity_ids: names, member_group_ids: ["robots"] });
  expect(withMemberIds(shown, known)).toEqual(group);
  expect(withMemberIds({ name: "ops" }, known)).toEqual({ name: "ops" });
  expect(offeredMembers(known, [])).toEqual({
    member_entity_ids: [...names.slice(0, 5), "eve", "entity_07"],
    member_group_ids: ["robots"],
  });
});

it("takes a name that is an entity's own for that entity, whoever else is called so", () => {
  expect(memberMistake({ member_entity_ids: ["eve", "entity_07"] }, known)).toBeNull();
  const group = { member_entity_ids: ["e6", "e7"] };
  const shown = withMemberNames(group, known);
  expect(shown).toEqual({ member_entity_ids: ["eve", "entity_07"] });
  expect(withMemberIds(shown, known)).toEqual(group);
});

it("names each member that is unknown, and leaves ids to the server", () => {
  expect(memberMistake({ member_entity_ids: ["Ann", "Bob", "Anne", ID], member_group_ids: ["none"] }, known)).toEqual({
    field: "member_entity_ids",
    text: "There is no entity Anne: pick one, or type its id. More than one is called Bob: pick one by its own name",
  });
  expect(memberMistake({ member_entity_ids: ["Ann"], member_group_ids: ["none"] }, known)?.field).toBe(
    "member_group_ids",
  );
  expect(memberMistake({ name: "ops", member_entity_ids: ["entity_02", ID] }, known)).toBeNull();
});

it("offers a group neither itself nor a group that it is in, and refuses both", () => {
  const groups = { ...known, group: knownNames(["own", "up", "free"].map((id) => ({ id, name: id, called: id }))) };
  const outside = outsideOf({ id: "own", parent_group_ids: ["up"] });
  expect(offeredMembers(groups, outside).member_group_ids).toEqual(["free"]);
  expect(cycleMistake({ member_group_ids: ["free"] }, groups, outside)).toBeNull();
  for (const name of ["own", "up"])
    expect(cycleMistake({ member_group_ids: ["free", name] }, groups, outside)?.text).toContain(
      `${name} is this group`,
    );
  expect(outsideOf(null)).toEqual([]);
});
