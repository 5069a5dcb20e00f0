import type { Api, Envelope, Query } from "../api.ts";
import { pathOf } from "../href.ts";
import type { RecordValue } from "../records/field.ts";
import type { FormRequest } from "../records/request-commands.ts";
import { type Answer, done } from "../result.ts";

const MEDIA_TYPE = "application/vnd.api+json";

/** Rows of a page. */
const PAGE_SIZE = 50;

/** A resource of the Terraform interface (JSON:API). */
export interface Resource<T> {
  readonly id: string;
  readonly attributes: T;
  readonly relationships?: Readonly<Record<string, { readonly data?: { readonly id: string } | readonly unknown[] }>>;
}

export interface Organization {
  readonly name: string;
  readonly email: string;
  readonly "created-at": string;
  readonly "end-tokens-after-24-months"?: boolean;
  readonly "max-ttl-enabled"?: boolean;
  readonly "default-team-token-ttl-ms"?: number | null;
}

export interface Team {
  readonly name: string;
  readonly visibility: string;
  readonly "sso-team-id": string | null;
  readonly "token-policies": readonly string[];
  readonly "created-at": string;
}

/** A token of a team; times are RFC 3339. */
export interface TeamToken {
  readonly "team-name": string;
  readonly "created-at": string;
  readonly "last-used-at": string | null;
  readonly "expired-at": string | null;
  readonly description: string | null;
  readonly "rotated-at"?: string;
  readonly "created-by-name"?: string;
  /** The secret. Only the answer to the creation has it. */
  readonly token: string | null;
}

export interface Webhook {
  readonly name: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly triggers: readonly string[];
}

/** A delivery to a webhook, sent or waiting for a retry. */
export interface Delivery {
  readonly trigger: string;
  readonly state: string;
  readonly attempts: number;
  readonly "sent-at": string;
  /** Status of the answer; null without one. */
  readonly code: number | null;
  readonly error: string | null;
}

/** The API's name of webhooks, in paths and bodies. */
export const WEBHOOK_TYPE = "notification-configurations";

/** A page of a list. */
export interface ResourcePage<T> {
  readonly items: readonly Resource<T>[];
  readonly pages: number;
  readonly total: number;
}

/** An endpoint of the Terraform interface. */
export const teamsPath = (...parts: readonly string[]): string => `/api/v2/${pathOf(...parts)}`;

/** The endpoint that rotates a token. */
export const rotationPath = ({ id }: Resource<TeamToken>): string =>
  teamsPath("authentication-tokens", id, "actions", "rotate");

export async function readResource<T>(api: Api, path: string): Promise<Answer<Resource<T>>> {
  return api.read<Resource<T>>(path);
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

/** The request that creates (POST) or changes (PATCH) a resource. */
export const resourceRequest = (
  method: "POST" | "PATCH",
  path: string,
  type: string,
  attributes: RecordValue,
): FormRequest => ({ method, path, body: { data: { type, attributes } }, contentType: MEDIA_TYPE });

/** The endpoint with the tokens of all teams of an organization. */
export const tokensPath = (organization: string): string => teamsPath("organizations", organization, "team-tokens");

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

/** The id of the team of a token. */
export function teamOf({ relationships }: Resource<TeamToken>): string {
  const data = relationships?.team?.data;
  return data !== undefined && "id" in data ? data.id : "";
}
