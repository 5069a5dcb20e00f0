import type { Api, Envelope, Query } from "../api.ts";
import { type Answer, done } from "../result.ts";
import { MEDIA_TYPE, type Resource, tokensPath } from "./resources.ts";

/** Rows of a page. */
const PAGE_SIZE = 50;

/** A page of a list. */
export interface ResourcePage<T> {
  readonly items: readonly Resource<T>[];
  readonly pages: number;
  readonly total: number;
}

export async function readResource<T>(api: Api, path: string, query: Query = {}): Promise<Answer<Resource<T>>> {
  return api.read<Resource<T>>(path, query);
}

/** One page of a list. @param page from 1 */
export async function listResources<T>(
  api: Api,
  path: string,
  page: number,
  query: Query = {},
): Promise<Answer<ResourcePage<T>>> {
  const answer = await api.call<readonly Resource<T>[]>(path, {
    query: { ...query, "page[number]": page, "page[size]": PAGE_SIZE },
  });
  if (!answer.ok) return answer;
  const { data, meta } = answer.value;
  const { pages, total } = paginationOf(meta);
  return done({ items: data, pages, total: total ?? data.length });
}

function paginationOf(meta: unknown): { readonly pages: number; readonly total: number | undefined } {
  const found =
    typeof meta === "object" && meta !== null && "pagination" in meta
      ? (meta.pagination as Readonly<Record<string, number | undefined>>)
      : {};
  return { pages: found["total-pages"] ?? 1, total: found["total-count"] };
}

/** Deletes tokens of an organization, all or none. */
export const deleteTokens = (
  api: Api,
  organization: string,
  ids: readonly string[],
): Promise<Answer<Envelope<unknown>>> =>
  api.call(tokensPath(organization), {
    method: "DELETE",
    body: { data: ids.map((id) => ({ type: "authentication-tokens", id })) },
    contentType: MEDIA_TYPE,
  });
