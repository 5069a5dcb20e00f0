import { callerOf } from "../../auth/caller.ts";
import { type Answered, type CallContext, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { injectedAnswer } from "../../auth/route-description.ts";
import {
  accessorTarget,
  inCallersTree,
  lookUpOf,
  outcomeOf,
  readTargetToken,
  type TargetedAction,
  tokenTarget,
  type UnstoredToken,
} from "../../auth/target.ts";
import { currentTime } from "../../base/clock.ts";
import { MAX_PATH_LENGTH } from "../../base/limits.ts";
import { DENIED, err, type Failure, invalid, ok, type Result, refuse } from "../../base/result.ts";
import { aclOfToken } from "../../identity/standing.ts";
import { type Acl, compileAcl } from "../../policy/acl.ts";
import { capabilitiesOf } from "../../policy/evaluate.ts";
import { parsePolicy, policyErrorText } from "../../policy/parse.ts";
import { canonicalTeamPath } from "../../team/canonical-path.ts";
import type { TokenRecord } from "../../token/record.ts";
import { deprecated, fieldSchema, list, sent, text, unread, type Values } from "../../wire/fields.ts";
import { injectedReply } from "../../wire/reply.ts";

/** `path` is the older name of `paths`. */
const PATHS = {
  paths: sent(list()).describe("The paths"),
  path: deprecated(sent(list())).describe("Older name of `paths`"),
};
type PathFields = Values<typeof PATHS>;

/** Each path with what may be done there; `capabilities` when one path was asked for. */
const CAPABILITIES = injectedAnswer({ "*": ["string"] });

const INVALID_TOKEN = invalid("invalid token");
const INVALID_ACCESSOR = invalid("invalid accessor");

/** What the caller, or another token, may do on some paths. Messages are the reference's (sys/capabilities). */
export const CAPABILITY_ROUTES: readonly Route[] = [
  simpleRoute("update", "sys/capabilities-self", {
    summary: "Tells what the caller may do on paths.",
    operationId: "query-token-self-capabilities",
    answers: CAPABILITIES,
    input: fieldSchema({ ...PATHS, token: unread("string").describe("The token") }),
    handle: async (context) => answer(context, context.caller.record),
  }),

  tokenRoute("update", "sys/capabilities", {
    summary: "Tells what a token may do on paths.",
    operationId: "query-token-capabilities",
    answers: CAPABILITIES,
    input: fieldSchema({ ...PATHS, token: unread("string").describe("The token") }),
    async prepare(context): Promise<Result<TargetedAction | UnstoredToken>> {
      const { fields } = context;
      if (fields.token === undefined || fields.token === "") return refuse("no token found");
      const read = typeof fields.token === "string" ? await readTargetToken(context, fields.token) : err(INVALID_TOKEN);
      if (!read.ok) return read;
      if (!read.value) return err(INVALID_TOKEN);
      return ok(read.value.kind === "service" ? lookUpOf(tokenTarget(read.value)) : { unstored: read.value });
    },
    action: async (context) => inCallersTree(context, context.prepared),
    handle: (context) => answerForSubject(context, INVALID_TOKEN),
  }),

  tokenRoute("update", "sys/capabilities-accessor", {
    summary: "Tells what the token that an accessor belongs to may do on paths.",
    operationId: "query-token-accessor-capabilities",
    answers: CAPABILITIES,
    input: fieldSchema({ ...PATHS, accessor: text().describe("The accessor of the token") }),
    async prepare(context): Promise<Result<TargetedAction | UnstoredToken>> {
      const { accessor } = context.fields;
      if (accessor === "") return refuse("missing accessor");
      const found = await accessorTarget(context.installation.keys, accessor);
      return found ? ok(lookUpOf(found)) : err(INVALID_ACCESSOR);
    },
    action: async (context) => inCallersTree(context, context.prepared),
    handle: (context) => answerForSubject(context, INVALID_ACCESSOR),
  }),

  // The text comes from the caller, so this reveals nothing of the policies that are stored.
  simpleRoute("update", "sys/capabilities-policy", {
    summary: "Tells what a policy alone would allow on paths. The policy need not be stored.",
    operationId: "query-policy-capabilities",
    answers: CAPABILITIES,
    input: fieldSchema({
      ...PATHS,
      policy: text().describe("The rules, in HCL or JSON; templates in paths match nothing"),
    }),
    handle: async (context) => answerForPolicy(context),
  }),
];

async function answerForSubject(
  context: CallContext<PathFields, TargetedAction | UnstoredToken>,
  unknown: Failure,
): Answered {
  const { prepared } = context;
  if ("unstored" in prepared) {
    const holder = await callerOf(context.env, context.installation, prepared.unstored);
    return holder ? answer(context, holder.record) : err(unknown);
  }
  const outcome = await outcomeOf(context, prepared);
  if (!outcome.ok || outcome.value.kind !== "token") return err(unknown);
  return answer(context, outcome.value.token);
}

async function answerForPolicy(context: CallContext<PathFields & { readonly policy: string }>): Answered {
  const { policy } = context.fields;
  if (policy === "") return refuse("'policy' parameter not supplied or empty");
  const now = currentTime();
  const rules = parsePolicy(policy, now);
  if (!rules.ok) return refuse(policyErrorText(rules.error));
  const named = { name: "policy", rules: rules.value, allowSlashes: false, allowWildcards: false };
  return answerByAcl(context, compileAcl([named], { now }));
}

async function answer(context: CallContext<PathFields>, holder: TokenRecord): Answered {
  const acl = await aclOfToken(context.env, context.installation, holder);
  // The holder's entity is disabled or gone: its token grants nothing to anybody who asks, either.
  return acl.ok ? answerByAcl(context, acl.value) : err(DENIED);
}

/** Each path with its capabilities, once more as `capabilities` when there is only one. */
async function answerByAcl({ env, installation, fields }: CallContext<PathFields>, acl: Acl): Answered {
  const paths = fields.paths?.length ? fields.paths : (fields.path ?? []);
  if (paths.length === 0) return refuse("paths must be supplied");
  if (paths.some((path) => path.length > MAX_PATH_LENGTH)) return refuse("a path is too long");
  const now = currentTime();
  const entries = await Promise.all(
    paths.map(async (path): Promise<[string, string[]]> => {
      const canonical = acl.isRoot ? null : await canonicalTeamPath(env, installation.keys, path);
      return [path, capabilitiesOf(acl, path, canonical ?? undefined, now)];
    }),
  );
  const only = paths.length === 1 ? entries[0] : undefined;
  const data = Object.fromEntries(only ? [...entries, ["capabilities", only[1]]] : entries);
  return ok(injectedReply(data));
}
