import * as z from "zod";
import type * as Api from "../../client/answers.d.ts";

/** The parsed type of `Shape`. It does not compile when the OpenAPI document disagrees with it. */
type AnsweredBy<Answer extends Frozen<z.input<Shape>>, Shape extends z.ZodType> =
  Answer extends Frozen<z.input<Shape>> ? z.output<Shape> : never;
type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Frozen<T[Name]> }
    : T;

/** A token as `sys/tokens` shows it. Times are RFC 3339. */
export const TOKEN = z.object({
  accessor: z.string(),
  display_name: z.string(),
  path: z.string(),
  role: z.string(),
  mount: z.string(),
  policies: z.array(z.string()),
  entity_id: z.string().default(""),
  metadata: z.record(z.string(), z.string()).default({}),
  created: z.string(),
  expires: z.string().nullable(),
  uses_left: z.number(),
  children: z.number(),
  last_used: z.string().nullish(),
  tree: z.string().optional(),
});
export type Token = AnsweredBy<Api.Token, typeof TOKEN>;

/** The mounts of auth methods by their path without `auth/`, as `sys/auth` shows them. */
export const MOUNTS = z.record(z.string(), z.object({ type: z.string() }));

/** `more`: counting stopped at `count`. */
const COUNT = z.object({ count: z.number(), more: z.boolean() });
export type Count = z.infer<typeof COUNT>;

export const PAGE = z.object({ tokens: z.array(TOKEN), next: z.string() });

export const SUMMARY = z.object({
  groups: z.array(z.object({ key: z.string(), count: z.number() })),
  total: z.number(),
  other: z.number().default(0),
});

/** Numbers of ending tokens by interval. */
export const ENDS = z.object({
  groups: z.array(z.object({ key: z.string(), count: z.number() })),
  total: z.number(),
  other: z.object({ count: z.number() }),
});

export const FOREST = z.object({
  groups: z.array(
    z.object({
      mount: z.string(),
      count: z.number(),
      trees: z.number(),
      largest: z.array(
        z.object({ tree: z.string(), root: TOKEN.nullable(), count: z.number(), ended: z.boolean().default(false) }),
      ),
      rest: z.object({ trees: z.number(), count: z.number(), estimated: z.boolean().default(false) }),
    }),
  ),
  total: z.number(),
});
export type Forest = AnsweredBy<Api.TokenMap, typeof FOREST>;

export const LINEAGE = z.object({
  token: TOKEN,
  ancestors: z.array(TOKEN),
  ancestors_more: z.boolean().default(false),
  descendants: COUNT,
  leases: COUNT,
  cubbyhole: z.object({ values: z.number(), bytes: z.number() }),
});
export type Lineage = AnsweredBy<Api.TokenDetail, typeof LINEAGE>;

const ASKER = z.object({ accessor: z.string(), display_name: z.string() }).nullable();
const END = z.object({ at: z.string(), how: z.string(), by: ASKER });

/** The answer about an ended token, instead of its lineage. */
export const ENDED_TOKEN = z.object({ token: TOKEN, ended: END.extend({ with: z.number().default(0) }) });
export type EndedToken = AnsweredBy<Api.EndedToken, typeof ENDED_TOKEN>;

/** Leases of ended tokens whose targets have not accepted the revocation. */
const UNREVOKED = z.object({
  waiting: z.number(),
  failing: z.number(),
  /** Removed by force, without the answer of the target. */
  removed: z.number().default(0),
  more: z.boolean(),
  failures: z.array(z.object({ lease_id: z.string(), error: z.string(), next_attempt: z.string().nullable() })),
});

/** What is known of a text. */
export const FOUND_TEXT = z.object({
  state: z.enum(["live", "refused", "ended", "unjudged", "mistyped", "elsewhere", "unknown"]),
  kind: z.string(),
  message: z.string(),
  chosen_id: z.boolean(),
  mounts: z.array(z.string()).optional(),
  roles: z.record(z.string(), z.array(z.string())).optional(),
  entities: z
    .array(z.object({ id: z.string(), name: z.string(), disabled: z.boolean(), alias: z.string(), mount: z.string() }))
    .optional(),
  wrapped_accessor: z.string().optional(),
  token: TOKEN.optional(),
  ended: END.extend({ request_id: z.string(), job: z.string().default("") }).optional(),
  unrevoked_leases: UNREVOKED.optional(),
  credential: z
    .object({
      accessor: z.string(),
      display_name: z.string(),
      description: z.string().default(""),
      created_by: z.string().default(""),
      policies: z.array(z.string()),
      metadata: z.record(z.string(), z.string()),
      entity_id: z.string(),
      path: z.string(),
      created: z.string().nullable(),
      expires: z.string().nullable(),
      parent: z.string().nullable(),
    })
    .optional(),
});
export type FoundText = AnsweredBy<Api.FoundText, typeof FOUND_TEXT>;

/** A token of the list of those that have ended. */
const ENDED_SINCE = z.object({ token: TOKEN, ended: END.extend({ cause: z.string(), job: z.string() }) });
export type EndedSince = AnsweredBy<Api.EndedPage["tokens"][number], typeof ENDED_SINCE>;

export const ENDED_PAGE = z.object({ tokens: z.array(ENDED_SINCE), next: z.string() });

/** A revocation by path, role, mount, entity or time of issue. */
const REVOCATION = z.object({
  prefix: z.string().optional(),
  entity_id: z.string().optional(),
  issued_since: z.string().optional(),
  time: z.string(),
  created_before: z.string().nullable(),
  asked_by: ASKER,
});
export type Revocation = AnsweredBy<Api.WatermarkRevocations["revocations"][number], typeof REVOCATION>;

export const REVOCATIONS = z.object({ revocations: z.array(REVOCATION) });

/** Why a request of a token is allowed or refused. */
export const EXPLANATION = z.object({
  allowed: z.boolean(),
  reason: z.string().default(""),
  message: z.string(),
  operation: z.string(),
  path: z.string(),
  policies: z.array(z.string()),
  missing_policies: z.array(z.string()),
  rule: z
    .object({
      path: z.string(),
      policies: z.array(z.object({ name: z.string(), path: z.string(), lines: z.array(z.number()) })),
    })
    .optional(),
  hcl: z.string().nullable(),
});

/** A token with its descendants. */
export interface Branch {
  readonly token: Token;
  readonly descendants?: Count | undefined;
  readonly children?: readonly Branch[] | undefined;
}
const BRANCH: z.ZodType<Branch> = z.object({
  token: TOKEN,
  descendants: COUNT.optional(),
  get children() {
    return z.array(BRANCH).optional();
  },
});
export const SUBTREE = z.object({ token: TOKEN, children: z.array(BRANCH), more: z.boolean() });
export type Subtree = z.infer<typeof SUBTREE>;

/** A lease whose revocation its target has not accepted. `next_attempt` null or absent: it was given up. */
export const FAILING_LEASE = z.object({
  lease_id: z.string(),
  accessor: z.string().optional(),
  error: z.string(),
  next_attempt: z.string().nullish(),
});
export type FailingLease = AnsweredBy<Api.IrrevocableLeases["leases"][number], typeof FAILING_LEASE>;

export const RECEIPT = z.object({
  job: z.string(),
  state: z.string(),
  asked_by: ASKER,
  request_id: z.string(),
  started: z.string(),
  finished: z.string().nullable(),
  numbers: z.object({ matched: z.number(), total: z.number(), leases: COUNT, not_ended: z.number().default(0) }),
  not_ended: z.array(z.object({ accessor: z.string(), cause: z.string() })).default([]),
});
export type Receipt = AnsweredBy<Api.Receipt, typeof RECEIPT>;

/** What the trees of ended tokens say of them. */
export const ENDED_CHECK = z.object({
  checked: z.number(),
  ended: z.number(),
  unknown: z.number(),
  alive: z.array(z.string()),
  /** Tokens whose tree does not answer, as its database is damaged. */
  unanswered: z.array(z.string()).default([]),
  unrevoked_leases: UNREVOKED,
  next: z.string(),
});
export type EndedCheck = AnsweredBy<Api.EndedCheck, typeof ENDED_CHECK>;

const GROUPS = z.array(z.object({ key: z.string(), count: z.number() }));

/** The tokens that a bulk revocation would end. */
export const PREVIEW = z.object({
  count: z.number(),
  total: z.number(),
  leases: COUNT,
  by: z.object({ mount: GROUPS, type: GROUPS, role: GROUPS, owner: GROUPS }),
  skipped: z.object({ root: z.number(), self: z.number() }),
  sample: z.array(TOKEN).default([]),
});
export type Preview = AnsweredBy<Api.RevocationPreview, typeof PREVIEW>;

/** A bulk revocation, or its count. */
export const JOB = z.object({
  id: z.string(),
  state: z.enum(["counting", "counted", "refused", "running", "done", "incomplete", "stopped", "failed"]),
  counted: z.number(),
  preview: PREVIEW.optional(),
  matched: z.number().nullable(),
  /** Number of tokens that it has ended. */
  total: z.number(),
  /** Number of ended tokens that the job selected. The others of `total` were their descendants. */
  revoked: z.number(),
  ended_before: z.number().default(0),
  /** When it ended; null while its numbers may grow, also while a stopped job finishes its step. */
  finished: z.string().nullable(),
  failures: z.array(z.string()).default([]),
  not_ended: z.number().default(0),
});
export type Job = AnsweredBy<Api.RevocationJob, typeof JOB>;

export const STARTED = z.object({ job: z.string() });

/** The answer of a dry run: the numbers, or the job that goes on counting. */
export const COUNTED = z.union([PREVIEW, STARTED]);

/** How a token was made. `made_by` null: by a request without a token, such as a login. */
const MADE = z.looseObject({
  accessor: z.string(),
  display_name: z.string(),
  made_by: z.string().nullable(),
  time: z.string(),
  request_id: z.string(),
  path: z.string(),
  client_address: z.string().nullable(),
  mount: z.string().optional(),
  role: z.string().optional(),
  principal: z.string().optional(),
});
export type MadeToken = z.infer<typeof MADE>;

const EVENT_TOKEN = z.looseObject({ accessor: z.string(), display_name: z.string() });

/** An event of the audit store, with all fields of its line. */
const EVENT = z.looseObject({
  kind: z.string(),
  type: z.string(),
  time: z.string(),
  request_id: z.string().optional(),
  operation: z.string().optional(),
  path: z.string().optional(),
  client_address: z.string().nullish(),
  status: z.number().optional(),
  error: z.string().optional(),
  auth: EVENT_TOKEN.optional(),
  response: z
    .looseObject({
      auth: EVENT_TOKEN.optional(),
      wrap_info: z.looseObject({ accessor: z.string().optional(), wrapped_accessor: z.string().optional() }).optional(),
    })
    .optional(),
  target_accessor: z.string().optional(),
  holder_accessor: z.string().optional(),
  target_accessors: z.array(z.string()).optional(),
  target_entities: z.array(z.string()).optional(),
  revocation: z
    .looseObject({ dry_run: z.boolean(), total: z.number().optional(), job: z.string().optional() })
    .optional(),
  role: z.string().optional(),
  principal: z.string().optional(),
  count: z.number().optional(),
});

/** A page of events; the first one about a token also says who made it. */
export const AUDIT_EVENTS = z.object({
  events: z.array(EVENT),
  next: z.string(),
  accessor: z.string().optional(),
  makers: z.array(MADE).optional(),
  uses: z
    .array(
      z.looseObject({
        ...{ hour: z.string(), address: z.string().nullable(), count: z.number(), last: z.string() },
        // The token of the uses, in an answer about several tokens.
        accessor: z.string().optional(),
      }),
    )
    .optional(),
  more_uses: z.boolean().optional(),
  attempts: z.array(EVENT).optional(),
  ended: END.extend({ cause: z.string(), request_id: z.string() }).optional(),
  below: z.array(MADE.extend({ depth: z.number() })).optional(),
  complete: z.boolean().optional(),
  below_next: z.string().optional(),
});
export type AuditEvents = AnsweredBy<Api.AuditEvents, typeof AUDIT_EVENTS> & {
  /** True when there are more events, in an answer about several tokens: such an answer has no next page. */
  readonly more?: boolean;
};
export type AuditEvent = AuditEvents["events"][number];

/** A part of the check of the audit store. */
export const AUDIT_VERIFICATION = z.object({
  objects: z.number(),
  records: z.number(),
  problems: z.array(z.object({ object: z.string(), problem: z.string(), seq: z.number() })),
  cursor: z.string(),
});
export type AuditProblem = AnsweredBy<Api.AuditVerification, typeof AUDIT_VERIFICATION>["problems"][number];
