import type { Entity } from "../../client/answers.d.ts";
import { pathOf } from "../href.ts";
import { listedEntities } from "../read-names.ts";
import type { Session } from "../session.ts";
import { isUuid } from "../uuid.ts";
import { rolesOfAliases } from "./roles-of-aliases.ts";
import type { Found } from "./search-result.ts";

/** The role of the approle method with a role-id, once it was logged in with: the alias of such a login has its name. */
export async function roleWithId({ api }: Session, text: string): Promise<readonly Found[]> {
  if (!isUuid(text)) return [];
  const entity = (await listedEntities(api)).find(([, { aliases }]) => aliases.some(({ name }) => name === text));
  const answer = entity && (await api.read<Pick<Entity, "aliases">>(`identity/entity/id/${pathOf(entity[0])}`));
  return answer?.ok ? rolesOfAliases(answer.value.aliases, text) : [];
}
