import type { Entity } from "../../client/answers.d.ts";
import { pathOf } from "../href.ts";
import { listedEntities } from "../read-names.ts";
import type { Session } from "../session.ts";
import { isUuid } from "../uuid.ts";
import { rolesOfAliases } from "./roles-of-aliases.ts";
import type { Found } from "./search-result.ts";

/** The approle role with a role-id that a client has logged in with: the login makes an alias that is named after it. */
export async function roleWithId({ api }: Session, text: string): Promise<readonly Found[]> {
  if (!isUuid(text)) return [];
  const entity = (await listedEntities(api)).find(([, { aliases }]) => aliases.some(({ name }) => name === text));
  const answer = entity && (await api.read<Pick<Entity, "aliases">>(`identity/entity/id/${pathOf(entity[0])}`));
  return answer?.ok ? rolesOfAliases(answer.value.aliases, text) : [];
}
