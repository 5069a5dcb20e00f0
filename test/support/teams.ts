import { SELF } from "cloudflare:test";
import { expect } from "vitest";

/** A resource of an answer. */
export interface ApiResource {
  readonly id: string;
  readonly type: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships: Readonly<Record<string, { readonly data: unknown; readonly meta?: unknown }>>;
  readonly links: Readonly<Record<string, string>>;
}

/** An error of an answer. */
export interface ApiError {
  readonly status: string;
  readonly title: string;
  readonly detail: string;
  readonly source?: { readonly pointer?: string; readonly parameter?: string };
}

/** A parsed answer, typed as what the test asked for: one resource, or `data` as a list. */
export interface ApiAnswer<Data = ApiResource> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly data: Data;
    readonly errors: readonly ApiError[];
    readonly links: Readonly<Record<string, string | null>>;
    readonly meta: { readonly pagination: Readonly<Record<string, number | null>> };
  };
}

/** Sends a request to the interface of teams, as its clients do. `path` is without the base path `/api/v2/`. */
export async function api<Data = ApiResource>(
  method: string,
  path: string,
  options: { token?: string; body?: unknown; raw?: string; headers?: Record<string, string> } = {},
): Promise<ApiAnswer<Data>> {
  const headers = new Headers({ "Content-Type": "application/vnd.api+json", ...options.headers });
  if (options.token) headers.set("Authorization", `Bearer ${options.token}`);
  const body = options.raw ?? (options.body === undefined ? null : JSON.stringify(options.body));
  const response = await SELF.fetch(`http://grove.test/api/v2/${path}`, { method, headers, body });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text), headers: response.headers };
}

/** A document with one resource. */
export function resource(type: string, attributes: Record<string, unknown>) {
  return { data: { type, attributes } };
}

/** The one error of an answer. */
export function errorOf(answer: ApiAnswer<unknown>): ApiError {
  const [error, ...others] = answer.body.errors;
  if (!error || others.length > 0) throw new Error("the answer does not have one error");
  return error;
}

/** Creates an organization and returns its name. */
export async function createOrganization(root: string, name: string): Promise<string> {
  const body = resource("organizations", { name, email: "admin@example.com" });
  const answer = await api("POST", "organizations", { token: root, body });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return name;
}

/** Creates a team and returns its id. */
export async function createTeam(
  root: string,
  organization: string,
  name: string,
  attributes: Record<string, unknown> = {},
): Promise<string> {
  const body = resource("teams", { name, ...attributes });
  const answer = await api("POST", `organizations/${organization}/teams`, { token: root, body });
  if (answer.status !== 200) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body.data.id;
}

let organizations = 0;

/** Creates an organization for one test, with one team, and returns the name of the one and the id of the other. */
export async function organizationWithTeam(
  root: string,
  team = "team",
): Promise<{ organization: string; teamId: string }> {
  const organization = await createOrganization(root, `organization-${organizations++}`);
  return { organization, teamId: await createTeam(root, organization, team) };
}

/** The status that a token gets where every good token of a team may go. */
export async function statusOf(token: string): Promise<number> {
  return (await api("GET", "account/details", { token })).status;
}

/** A token that was just generated. */
export interface Generated {
  readonly id: string;
  readonly text: string;
}

/** Generates the token of a team. */
export async function generateToken(root: string, teamId: string, expiredAt?: string): Promise<Generated> {
  const body = resource("authentication-token", expiredAt === undefined ? {} : { "expired-at": expiredAt });
  const answer = await api("POST", `teams/${teamId}/authentication-token`, { token: root, body });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return { id: answer.body.data.id, text: answer.body.data.attributes.token as string };
}

/** Makes a token of a team with a description, besides those that it has. */
export async function describeToken(
  root: string,
  teamId: string,
  description: string,
  expiredAt?: string,
): Promise<Generated> {
  const body = resource("authentication-tokens", {
    description,
    ...(expiredAt !== undefined && { "expired-at": expiredAt }),
  });
  const answer = await api("POST", `teams/${teamId}/authentication-tokens`, { token: root, body });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return { id: answer.body.data.id, text: answer.body.data.attributes.token as string };
}

/** Ids of the tokens that a list shows, in its order. */
export function idsOf(answer: ApiAnswer<readonly ApiResource[]>): string[] {
  expect(answer.status).toBe(200);
  return answer.body.data.map(({ id }) => id);
}

/** Reads a list. `path` is below the organization's. */
export function list(root: string, organization: string, path: string): Promise<ApiAnswer<readonly ApiResource[]>> {
  return api("GET", `organizations/${organization}/${path}`, { token: root });
}

/** The teams of an organization as their list shows them, without the owners that each has. */
export async function teamsOf(root: string, organization: string): Promise<readonly ApiResource[]> {
  const { data } = (await list(root, organization, "teams?page[size]=100")).body;
  return data.filter(({ attributes }) => attributes.name !== "owners");
}

/** The id of the owners of an organization. */
export async function ownersOf(root: string, organization: string): Promise<string> {
  const [owners] = (await list(root, organization, "teams?filter[names]=owners")).body.data;
  if (!owners) throw new Error("there are no owners");
  return owners.id;
}
