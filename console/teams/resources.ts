import { pathOf } from "../href.ts";
import type { RecordValue } from "../records/field.ts";
import type { FormRequest } from "../records/request-commands.ts";

/** The content type of the bodies. */
export const MEDIA_TYPE = "application/vnd.api+json";

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

/** The setting of an organization for the life of tokens that name no end (ms). */
export const DEFAULT_TTL = "default-team-token-ttl-ms";

/** The API's name of webhooks, in paths and bodies. */
export const WEBHOOK_TYPE = "notification-configurations";

/** An endpoint of the Terraform interface. */
export const teamsPath = (...parts: readonly string[]): string => `/api/v2/${pathOf(...parts)}`;

/** The endpoint that rotates a token. */
export const rotationPath = ({ id }: Resource<TeamToken>): string =>
  teamsPath("authentication-tokens", id, "actions", "rotate");

/** The request that creates (POST) or changes (PATCH) a resource. */
export const resourceRequest = (
  method: "POST" | "PATCH",
  path: string,
  type: string,
  attributes: RecordValue,
): FormRequest => ({ method, path, body: { data: { type, attributes } }, contentType: MEDIA_TYPE });

/** The endpoint with the tokens of all teams of an organization. */
export const tokensPath = (organization: string): string => teamsPath("organizations", organization, "team-tokens");

/** The endpoint of the tokens of an organization itself. */
export const ownTokenPath = (organization: string): string =>
  teamsPath("organizations", organization, "authentication-token");

/** A kind of token of an organization itself. */
export interface OwnToken {
  readonly title: string;
  /** The parameter that names the kind. */
  readonly query: { readonly token?: string };
}

/** An organization has at most one of each. */
export const OWN_TOKENS: readonly OwnToken[] = [
  { title: "to administer its teams", query: {} },
  { title: "to read its audit trail", query: { token: "audit-trails" } },
];

/** The id of the team of a token. */
export function teamOf({ relationships }: Resource<TeamToken>): string {
  const data = relationships?.team?.data;
  return data !== undefined && "id" in data ? data.id : "";
}

export const teamTokenName = ({ description, "team-name": team }: TeamToken): string =>
  `${description || "the token without a description"} of ${team}`;
