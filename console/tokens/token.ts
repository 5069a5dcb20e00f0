import { type Api, pathOf, type Query } from "../api.ts";
import { type Answer, done } from "../result.ts";
import type { Amount, Selection, Token } from "./model.ts";

export interface TokenPage {
  readonly tokens: readonly Token[];
  /** "" on the last page. */
  readonly next: string;
  readonly fresh_as_of: string;
}

/** A token with its lineage, and what a revocation would take with it. */
export interface TokenDetail {
  readonly token: Token;
  /** The root of the tree first. */
  readonly ancestors: readonly Token[];
  readonly ancestors_more: boolean;
  readonly children: readonly Token[];
  readonly children_next: string;
  readonly descendants: Amount;
  readonly leases: Amount;
  /** The oldest of those that the token itself holds. */
  readonly held_leases: readonly { readonly lease_id: string; readonly expire_time: string }[];
  readonly cubbyhole: { readonly values: number; readonly bytes: number };
}

/** What a bulk revocation would take. */
export interface Preview {
  readonly count: number;
  readonly more: boolean;
  readonly sample: readonly Token[];
  readonly leases: Amount;
  readonly skipped: { readonly root: number; readonly self: number };
}

export interface Job {
  readonly id: string;
  readonly state: "running" | "done" | "stopped" | "failed";
  readonly expected: number;
  readonly revoked: number;
  /** Of those that were counted: ended by the time that they were met. */
  readonly ended_before: number;
  /** Listed for the filter, and not meant by it as their own trees have them. */
  readonly mismatched: number;
  readonly remaining: number | null;
  readonly failures: readonly unknown[];
}

export const listTokens = (api: Api, query: Query): Promise<Answer<TokenPage>> =>
  api.read<TokenPage>("sys/tokens", query);

export const readToken = (api: Api, accessor: string, after = ""): Promise<Answer<TokenDetail>> =>
  api.read<TokenDetail>(`sys/tokens/${pathOf(accessor)}`, { limit: 50, after });

/** Revokes one token and all below it: from the answer on none of them is accepted. */
export async function revokeToken(api: Api, accessor: string): Promise<Answer<void>> {
  const answer = await api.call("auth/token/revoke-accessor", { body: { accessor } });
  return answer.ok ? done(undefined) : answer;
}

export async function previewRevocation(api: Api, selection: Selection): Promise<Answer<Preview>> {
  const answer = await api.call<Preview>("sys/tokens/revoke", { body: { ...selection, dry_run: true } });
  return answer.ok ? done(answer.value.data) : answer;
}

/** Begins a revocation of at most `expected` tokens. Gives the id of the job. */
export async function beginRevocation(api: Api, selection: Selection, expected: number): Promise<Answer<string>> {
  const body = { ...selection, dry_run: false, expected_count: expected };
  const answer = await api.call<{ readonly job: string }>("sys/tokens/revoke", { body });
  return answer.ok ? done(answer.value.data.job) : answer;
}

export const readJob = (api: Api, id: string): Promise<Answer<Job>> => api.read<Job>(`sys/tokens/jobs/${pathOf(id)}`);

export async function stopJob(api: Api, id: string): Promise<Answer<void>> {
  const answer = await api.call(`sys/tokens/jobs/${pathOf(id)}/stop`, { body: {} });
  return answer.ok ? done(undefined) : answer;
}
