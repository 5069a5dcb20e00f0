import { type Answered, type CallContext, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { injectedAnswer } from "../../auth/route-description.ts";
import { holderOf, inCallersTree, lookUpOf, type NamedToken, onAccessor, onToken } from "../../auth/target.ts";
import { currentTime } from "../../base/clock.ts";
import { MAX_PATH_LENGTH } from "../../base/limits.ts";
import { DENIED, err, type Failure, invalid, type Result, refuse } from "../../base/result.ts";
import { aclOfToken } from "../../identity/standing.ts";
import { type Acl, compileAcl } from "../../policy/acl.ts";
import { capabilitiesOf } from "../../policy/evaluate.ts";
import { parsePolicy, policyErrorText } from "../../policy/parse.ts";
import { canonicalTeamPath } from "../../team/find.ts";
import type { TokenRecord } from "../../token/record.ts";
import { deprecated, fieldSchema, list, sent, text, unread, type Values } from "../../wire/fields.ts";
import { injectedReply } from "../../wire/reply.ts";

const PATHS = {
  paths: sent(list()).describe("The paths"),
  path: deprecated(sent(list())).describe("Older name of `paths`"),
};
type PathFields = Values<typeof PATHS>;

const TOKEN = unread("string").describe("The token");
const RULES = text().describe(
  "The rules, in HCL or JSON. A rule with a template in its path counts as for a caller without an entity",
);

/** The capabilities on each path; `capabilities` has those of a single path again. */
const CAPABILITIES = injectedAnswer({ "*": ["string"] });

const INVALID_TOKEN = invalid("invalid token");

/** Capabilities of tokens on paths. Messages are the reference's (sys/capabilities). */
export const CAPABILITY_ROUTES: readonly Route[] = [
  simpleRoute("update", "sys/capabilities-self", {
    summary: "Returns the capabilities of the caller on paths.",
    operationId: "query-token-self-capabilities",
    answers: CAPABILITIES,
    input: fieldSchema({ ...PATHS, token: TOKEN }),
    handle: async (context) => answer(context, context.caller.record),
  }),

  tokenRoute("update", "sys/capabilities", {
    summary: "Returns the capabilities of a token on paths.",
    operationId: "query-token-capabilities",
    answers: CAPABILITIES,
    input: fieldSchema({ ...PATHS, token: TOKEN }),
    async prepare(context): Promise<Result<NamedToken>> {
      const { token } = context.fields;
      if (token === undefined || token === "") return refuse("no token found");
      return typeof token === "string" ? onToken(context, token, lookUpOf) : err(INVALID_TOKEN);
    },
    action: async (context) => inCallersTree(context, context.prepared),
    handle: (context) => answerForSubject(context, INVALID_TOKEN),
  }),

  tokenRoute("update", "sys/capabilities-accessor", {
    summary: "Returns the capabilities of the token that has this accessor, on paths.",
    operationId: "query-token-accessor-capabilities",
    answers: CAPABILITIES,
    input: fieldSchema({ ...PATHS, accessor: text().describe("The accessor of the token") }),
    prepare: (context): Promise<Result<NamedToken>> => onAccessor(context, context.fields.accessor, lookUpOf),
    action: async (context) => inCallersTree(context, context.prepared),
    handle: (context) => answerForSubject(context, invalid("invalid accessor")),
  }),

  // The caller sends the policy, so the answer reveals nothing of the policies that are stored.
  simpleRoute("update", "sys/capabilities-policy", {
    summary: "Returns the capabilities that a policy alone grants on paths. The policy need not be stored.",
    operationId: "query-policy-capabilities",
    answers: CAPABILITIES,
    input: fieldSchema({ ...PATHS, policy: RULES }),
    handle: async (context) => {
      const { policy } = context.fields;
      if (policy === "") return refuse("'policy' parameter not supplied or empty");
      const now = currentTime();
      const rules = parsePolicy(policy, now);
      if (!rules.ok) return refuse(policyErrorText(rules.error));
      const named = { name: "policy", rules: rules.value, allowSlashes: false, allowWildcards: false };
      return answerByAcl(context, compileAcl([named], { now }));
    },
  }),
];

async function answerForSubject(context: CallContext<PathFields, NamedToken>, unknown: Failure): Answered {
  const holder = await holderOf(context, context.prepared);
  return holder ? answer(context, holder.record) : err(unknown);
}

async function answer(context: CallContext<PathFields>, holder: TokenRecord): Answered {
  const acl = await aclOfToken(context.env, context.installation, holder);
  // When the entity of the token is disabled or deleted, the token has no capabilities.
  return acl.ok ? answerByAcl(context, acl.value) : err(DENIED);
}

async function answerByAcl({ env, installation, fields }: CallContext<PathFields>, acl: Acl): Answered {
  const paths = fields.paths?.length ? fields.paths : (fields.path ?? []);
  if (paths.length === 0) return refuse("paths must be supplied");
  if (paths.some((path) => path.length > MAX_PATH_LENGTH)) return refuse("a path is too long");
  const now = currentTime();
  const entries = await Promise.all(
    paths.map(async (path): Promise<[string, string[]]> => {
      const alternatePath = acl.isRoot ? null : await canonicalTeamPath(env, installation.keys, path);
      const mount = installation.mountPathServing(path.replace(/^\/+/, ""));
      return [path, capabilitiesOf(acl, { path, mount, ...(alternatePath !== null && { alternatePath }) }, now)];
    }),
  );
  const only = paths.length === 1 ? entries[0] : undefined;
  const data = Object.fromEntries(only ? [...entries, ["capabilities", only[1]]] : entries);
  return injectedReply(data);
}
