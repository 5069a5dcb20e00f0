import type { Api } from "../api.ts";
import { listedName } from "../entity-names.ts";
import { listedEntities, listedGroups } from "../read-names.ts";
import { RecordForm, type RecordFormProps } from "../records/record-form.tsx";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { useLoad } from "../ui/index.ts";
import {
  cycleMistake,
  type KnownMembers,
  knownNames,
  memberMistake,
  offeredMembers,
  outsideOf,
  withMemberIds,
  withMemberNames,
} from "./member-names.ts";

/** The form of a group. It shows members by name, and by id where the name can't be read. */
export function GroupForm<T>({ record, ...props }: RecordFormProps<T>) {
  const { api } = useSession();
  const { value: known } = useLoad("members", async () => done(await readMembers(api)));
  if (!known) return <div aria-busy="true" />;
  const outside = outsideOf(record);
  return (
    <RecordForm
      {...props}
      record={record && withMemberNames(record, known)}
      resolve={(values) => withMemberIds(values, known)}
      mistake={(values) => memberMistake(values, known) ?? cycleMistake(values, known, outside)}
      offered={offeredMembers(known, outside)}
    />
  );
}

async function readMembers(api: Api): Promise<KnownMembers> {
  const [entities, groups] = await Promise.all([listedEntities(api), listedGroups(api)]);
  return {
    entity: knownNames(entities.map(([id, entity]) => ({ id, name: entity.name, called: listedName(entity) }))),
    group: knownNames(groups.map(([id, name]) => ({ id, name, called: name }))),
  };
}
