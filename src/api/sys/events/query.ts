import { mentionOf, mentionOfRole } from "../../../audit/entry.ts";
import { AUDIT_KINDS, type AuditFilter } from "../../../audit/query.ts";
import { type EventCursor, readEventCursor } from "../../../audit/search.ts";
import type { ParsedToken } from "../../../auth/read-token.ts";
import type { PresentedContext } from "../../../auth/route.ts";
import { plainAddress } from "../../../base/client-network.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { findEndedAt } from "../../../listing/inventory/queries.ts";
import type { Installation } from "../../../system/installation.ts";
import { treeAt } from "../../../token/tree-stub.ts";
import { auditHash } from "../../../wire/audit-masking.ts";
import { strictSchema, type Values } from "../../../wire/field-schema.ts";
import { flag, integer, list, pasted, sent, text, time } from "../../../wire/fields.ts";
import { PAGE } from "../../../wire/pagination.ts";
import { BASE_PATH, fieldWithToken, hasBasePath, readLimit } from "../tokens/filter-fields.ts";

const PLAIN = {
  accessor: pasted().describe(
    "Accessor of a token (of a batch token its keyed hash): what it did and what was done to it.",
  ),
  role: text().describe("Name of a role, with its mount."),
  mount: text().describe("Path of a mount, such as auth/aws/ or sys/."),
  path_prefix: text().describe("Beginning of the path of the request."),
  operation: text().describe("Operation of the request, such as update."),
  kind: list().describe(`Kinds of events: ${AUDIT_KINDS.join(", ")}.`),
  status: sent(integer()).describe("Status of the answer."),
  request_id: text().describe("Id of a request, as its answer had it."),
  address: text().describe("Address of the client."),
  since: time().describe("Only events from this time on."),
  until: time().describe("Only events before this time."),
  order: text().describe("newest (default) or oldest: which come first."),
  after: PAGE.after.describe("The cursor in next of the previous page."),
  limit: sent(PAGE.limit).describe("Events of the page: 1 to 1000, 100 by default."),
};

/** The fields of a question about the events of one's own entity. */
export const OWN_QUERY = strictSchema(PLAIN);

export const EVENT_QUERY = strictSchema({
  ...PLAIN,
  token: pasted().describe("A token, in a body only: its events, also after its end."),
  entity_id: text().describe("Entity of the caller or of a new token, or that was changed."),
  actor: text().describe("Accessor of a token: only what it did itself."),
  lineage: flag(false).describe("With token or accessor: also its makers and descendants."),
  below_after: text().describe("With lineage: the cursor in below_next of the previous answer; only descendants."),
});

type Plain = Values<typeof PLAIN>;

export interface ReadQuery {
  readonly mentions: readonly string[];
  readonly filter: AuditFilter;
  /** Only events whose caller has this accessor; "" for any. */
  readonly actor: string;
  readonly newestFirst: boolean;
  readonly limit: number;
  readonly cursor: EventCursor;
}

type Context<F> = Pick<PresentedContext<F>, "env" | "installation" | "fields" | "request">;

/** Reads a question, as far as possible without stored data. */
export async function readEventQuery({
  env,
  installation,
  fields,
}: Context<Plain & { readonly entity_id?: string; readonly actor?: string }>): Promise<Result<ReadQuery>> {
  const { accessor, role, request_id: request, address, entity_id: entity = "", actor = "" } = fields;
  const { token: _, ...others } = { token: "", ...fields };
  const holder = await fieldWithToken(env, installation, others);
  if (holder !== null) return refuse(`${holder} must not contain a token: the field token takes one in a body`);
  if (hasBasePath(fields.path_prefix)) return refuse(BASE_PATH);
  const limit = readLimit(fields.limit ?? 0);
  if (!limit.ok) return limit;
  if (fields.limit === 0) return refuse("limit is at least 1");
  const { status } = fields;
  if (status !== undefined && (status < 100 || status > 599)) return refuse("status is from 100 to 599");
  const kinds = AUDIT_KINDS.filter((kind) => fields.kind.includes(kind));
  if (kinds.length < new Set(fields.kind).size) return refuse(`kind is one of ${AUDIT_KINDS.join(", ")}`);
  if (!["", "newest", "oldest"].includes(fields.order)) return refuse("order is newest or oldest");
  const mount = fields.mount && `${fields.mount.replace(/\/+$/, "")}/`;
  const cursor = readEventCursor(fields.after);
  if (!cursor) return refuse("after is not the cursor of a page");
  if (role !== "" && mount === "") return refuse("send the mount of the role too");
  const mentions = [
    accessor && mentionOf("accessor", accessor),
    actor && mentionOf("accessor", actor),
    entity && mentionOf("entity", entity),
    request && mentionOf("request", request),
    address && mentionOf("address", plainAddress(address)),
    role && mentionOfRole(mount, role),
  ].filter((mention) => mention !== "");
  const { since, until, path_prefix: pathPrefix, operation } = fields;
  const filter: AuditFilter = {
    ...(since !== undefined && { from: since }),
    ...(until !== undefined && { until }),
    ...(mount !== "" && { mount }),
    ...(pathPrefix !== "" && { pathPrefix }),
    ...(operation !== "" && { operation }),
    ...(kinds.length > 0 && { kinds }),
    ...(status !== undefined && { status }),
  };
  const newestFirst = fields.order !== "oldest";
  return ok({ mentions, filter, actor, newestFirst, limit: limit.value, cursor });
}

/** Returns how events name a token: by its accessor, also after its end, or by the keyed hash of its text. */
export async function nameToken(env: Env, { keys }: Installation, presented: ParsedToken) {
  const hash = await auditHash(keys, presented.text);
  return { accessor: (await accessorOf(env, presented)) ?? hash, hash };
}

async function accessorOf(env: Env, presented: ParsedToken): Promise<string | null> {
  if (presented.kind === "batch") return null;
  if (presented.kind === "registered") return (await presented.authenticate(env, "look-up"))?.accessor ?? null;
  const { treeId, row, verifier } = presented.credential;
  const tree = treeAt(env, treeId);
  const [live] = await tree.describe([row]);
  if (live) return live.accessor;
  const inTree = await tree.unsweptEnd({ by: "token", row, verifier });
  return inTree?.entry?.accessor ?? (await findEndedAt(env, { treeId, row }))?.token.accessor ?? null;
}
