import type { EndedToken, EntityList, EntityNames, TokenDetail } from "../client/answers.d.ts";
import type { Api } from "./api.ts";
import { type Names, namesBy, namesOfEntities } from "./entity-names.ts";
import { pathOf } from "./href.ts";

type ListedEntity = EntityList["key_info"][string];

/** Most tokens whose names a page reads, with one request each. */
const MOST_TOKENS = 20;

export const readEntityNames = (api: Api): Names =>
  namesOfEntities(async (ids) => {
    const answer = await api.call<EntityNames>("identity/lookup/entities", { body: { ids } });
    return answer.ok ? answer.value.data.key_info : {};
  });

/** Most entities, or groups, that are read from their list. */
const MOST_LISTED = 2_000;

/** The listed entities by id; none when the list is refused. */
export async function listedEntities(api: Api): Promise<readonly (readonly [id: string, ListedEntity])[]> {
  const answer = await api.read<Partial<EntityList>>("identity/entity/id", { list: true, limit: MOST_LISTED });
  return answer.ok ? Object.entries(answer.value.key_info ?? {}) : [];
}

interface GroupList {
  readonly key_info?: Readonly<Record<string, { readonly name: string }>>;
}

/** The names of the listed groups by id; none when the list is refused. */
export async function listedGroups(api: Api): Promise<readonly (readonly [id: string, name: string])[]> {
  const answer = await api.read<GroupList>("identity/group/id", { list: true, limit: MOST_LISTED });
  return answer.ok ? Object.entries(answer.value.key_info ?? {}).map(([id, { name }]) => [id, name] as const) : [];
}

/** The names of tokens, alive or ended. */
export const readTokenNames = (api: Api): Names =>
  namesBy((accessors) =>
    Promise.all(
      accessors.slice(0, MOST_TOKENS).map(async (accessor) => {
        const path = `sys/tokens/${pathOf(accessor)}`;
        const answer = await api.read<Pick<TokenDetail | EndedToken, "token">>(path, { limit: 1 });
        return [accessor, answer.ok ? answer.value.token.display_name : ""] as const;
      }),
    ),
  );
