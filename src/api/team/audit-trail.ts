import { mentionOf } from "../../audit/entry.ts";
import type { AuditEvent, AuditFilter } from "../../audit/query.ts";
import { eventPages } from "../../audit/search.ts";
import { flushAudit } from "../../audit/writer/isolate-writer.ts";
import { type Route, tokenRoute } from "../../auth/route.ts";
import { describeFields, plainAnswer } from "../../auth/route-description.ts";
import { type Ms, parseRfc3339 } from "../../base/clock.ts";
import { DENIED, err, NOT_FOUND, ok, refuse } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import type { PageRequest, RowPage } from "../../storage/pages.ts";
import { storedJson } from "../../storage/tables.ts";
import { type TrailLine, trailResource } from "../../team/rules/audit-trail.ts";
import { organizationNamed } from "../../team/stubs.ts";
import { ANY_FIELDS, fieldSchema } from "../../wire/field-schema.ts";
import { exact } from "../../wire/json-type-fields.ts";
import { plainReply } from "../../wire/reply.ts";
import { inner, view } from "../../wire/view.ts";
import { type ListQuery, PAGE_FIELDS, readListQuery } from "../json-api/routes.ts";
import { auditedBy } from "./credential.ts";

/** Maximum number of events of a trail, the newest ones. Pages by number skip events one by one. */
const MAX_EVENTS = 5_000;
const READ_AT_ONCE = 500;
/** Maximum number of questions to the store for one page. An answer can be short. */
const MAX_QUESTIONS = 50;

const SINCE = fieldSchema({
  since: exact("string", (value) => {
    if (value === undefined) return ok<Ms | null>(null);
    const time = typeof value === "string" ? parseRfc3339(value) : null;
    return time === null ? err("must be a time as RFC 3339") : ok<Ms | null>(time);
  }).describe("Only events from this time on, as RFC 3339"),
});

interface TrailEvent {
  readonly line: TrailLine;
  readonly organization: string;
}

const EVENT_VIEW = view<TrailEvent>({
  id: ["string", ({ line }) => line.request_id],
  version: ["string", () => "0"],
  type: ["string", () => "Resource"],
  timestamp: ["string", ({ line }) => line.time],
  auth: inner({
    accessor_id: ["string", ({ line }) => line.auth?.accessor || (line.token_hash ?? "")],
    description: ["string", ({ line }) => line.auth?.display_name ?? ""],
    type: ["string", () => "Client"],
    impersonator_id: ["string | null", () => null],
    organization_id: ["string", ({ organization }) => organization],
  }),
  request: inner({ id: ["string", ({ line }) => line.request_id] }),
  resource: [
    { id: "string", type: "string", action: "string", meta: { path: "string", operation: "string" } },
    ({ line }) => ({ ...trailResource(line), meta: { path: line.path, operation: line.operation } }),
  ],
});

interface TrailPage extends PageRequest {
  readonly total: number;
}

const lastOf = ({ total, size }: TrailPage) => Math.ceil(total / size);

const PAGINATION_VIEW = view<TrailPage>({
  current_page: ["integer", ({ number }) => number],
  page_size: ["integer", ({ size }) => size],
  prev_page: [
    "integer | null",
    (page) => (page.number > 1 && page.total > 0 ? Math.min(page.number - 1, lastOf(page)) : null),
  ],
  next_page: ["integer | null", (page) => (page.number < lastOf(page) ? page.number + 1 : null)],
  total_pages: ["integer", lastOf],
  total_count: ["integer", ({ total }) => total],
});

/** The audit trail of an organization. Unlike those of other endpoints, its answer is no document of JSON:API. */
export const AUDIT_TRAIL_ROUTES: readonly Route[] = [
  tokenRoute<Record<string, unknown>, ListQuery<{ readonly since: Ms | null }>>("read", "organization/audit-trail", {
    summary: "Lists the changes in the organization of the caller's token, the newest first.",
    operationId: "teams-list-audit-trail",
    fields: { ...describeFields(PAGE_FIELDS), ...describeFields(SINCE) },
    answers: plainAnswer({ data: [EVENT_VIEW.shape], pagination: PAGINATION_VIEW.shape }),
    input: ANY_FIELDS,
    prepare: async ({ fields }) => readListQuery(fields, SINCE, []),
    handle: async ({ env, caller, prepared: { page, own } }) => {
      const holder = auditedBy(caller);
      if (!holder) return err(DENIED);
      if (env.AUDIT_STORE === "off") return refuse("the audit store is off: the deployment sets AUDIT_STORE");
      const { organization: name, organizationId } = holder;
      const organization = await organizationNamed(env, name).show(name);
      if (organization?.organizationId !== organizationId) return NOT_FOUND;
      // Events of an earlier organization with the same name are not shown.
      const from = Math.max(own.since ?? 0, organization.createdAt);
      const { items, total } = await trailPage(env, name, from, page);
      const data = items.map((line) => EVENT_VIEW.show({ line, organization: name }));
      return plainReply({ data, pagination: PAGINATION_VIEW.show({ ...page, total }) });
    },
  }),
];

/** Reads a page, and counts what is on all pages. */
async function trailPage(env: Env, name: string, from: Ms, { number, size }: PageRequest): Promise<RowPage<TrailLine>> {
  await flushAudit(env);
  const filter: AuditFilter = { kinds: ["change"], from };
  const question = { mentions: [mentionOf("organization", name)], filter, newestFirst: true, limit: READ_AT_ONCE };
  const first = (number - 1) * size;
  const items: TrailLine[] = [];
  // After a late answer, a batch can be stored in two shards.
  const seen = new Set<string>();
  let asked = 0;
  for await (const events of eventPages(env, question)) {
    for (const line of events.map(lineOf)) {
      if (seen.has(line.request_id) || seen.size === MAX_EVENTS) continue;
      if (seen.size >= first && items.length < size) items.push(line);
      seen.add(line.request_id);
    }
    if (++asked >= MAX_QUESTIONS || seen.size >= MAX_EVENTS) break;
  }
  return { items, total: seen.size };
}

function lineOf({ line }: AuditEvent): TrailLine {
  return storedJson<TrailLine>(line);
}
