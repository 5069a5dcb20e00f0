import * as z from "zod";

/** A token as `sys/tokens` shows it. Times are RFC 3339. */
export const TOKEN = z.object({
  accessor: z.string(),
  display_name: z.string(),
  path: z.string(),
  role: z.string(),
  mount: z.string(),
  policies: z.array(z.string()),
  created: z.string(),
  expires: z.string().nullable(),
  uses_left: z.number(),
  children: z.number(),
  last_used: z.string().nullish(),
});
export type Token = z.infer<typeof TOKEN>;

/** A number that counting stopped at. */
const COUNT = z.object({ count: z.number(), more: z.boolean() });
export type Count = z.infer<typeof COUNT>;

export const PAGE = z.object({ tokens: z.array(TOKEN), next: z.string() });

export const SUMMARY = z.object({
  groups: z.array(z.object({ key: z.string(), count: z.number() })),
  total: z.number(),
  other: z.number().default(0),
});

export const FOREST = z.object({
  groups: z.array(
    z.object({
      mount: z.string(),
      count: z.number(),
      trees: z.number(),
      largest: z.array(z.object({ tree: z.string(), root: TOKEN.nullable(), count: z.number() })),
      rest: z.object({ trees: z.number(), count: z.number() }),
    }),
  ),
  total: z.number(),
});
export type Forest = z.infer<typeof FOREST>;

export const LINEAGE = z.object({
  token: TOKEN,
  ancestors: z.array(TOKEN),
  ancestors_more: z.boolean().default(false),
  descendants: COUNT,
  leases: COUNT,
  cubbyhole: z.object({ values: z.number(), bytes: z.number() }),
});
export type Lineage = z.infer<typeof LINEAGE>;

/** A token with what hangs below it. */
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

/** What a bulk revocation would take. */
export const PREVIEW = z.object({
  count: z.number(),
  more: z.boolean(),
  sample: z.array(TOKEN),
  leases: COUNT,
  skipped: z.object({ root: z.number(), self: z.number() }),
});
export type Preview = z.infer<typeof PREVIEW>;

export const STARTED = z.object({ job: z.string() });

/** A bulk revocation that was begun. */
export const JOB = z.object({
  id: z.string(),
  state: z.enum(["running", "done", "stopped", "failed"]),
  expected: z.number(),
  revoked: z.number(),
  failures: z.array(z.unknown()).default([]),
});
export type Job = z.infer<typeof JOB>;
