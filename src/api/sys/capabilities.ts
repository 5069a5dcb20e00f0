import { holderOf, inCallersTree, lookUpOf, type NamedToken, onAccessor, onToken } from "../../auth/named-token.ts";
import { type Answered, type CallContext, type PresentedContext, type Route, tokenRoute } from "../../auth/route.ts";
import { injectedAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { MAX_PATH_LENGTH } from "../../base/limits.ts";
import { DENIED, err, type Failure, invalid, ok, type Result, refuse } from "../../base/result.ts";
import { aclOfToken } from "../../identity/entity-copies.ts";
import { type Acl, compileAcl, type OtherPaths } from "../../policy/acl.ts";
import { capabilitiesOf } from "../../policy/evaluate.ts";
import { parsePolicy, policyErrorText } from "../../policy/parse.ts";
import type { TokenRecord } from "../../token/record.ts";
import { fieldSchema, type Values } from "../../wire/field-schema.ts";
import { deprecated, list, pasted, sent, text, unread } from "../../wire/fields.ts";
import { injectedReply } from "../../wire/reply.ts";

const PATHS = {
  paths: sent(list()).describe("The paths"),
  path: deprecated(sent(list())).describe("Older name of `paths`"),
};
type PathFields = Values<typeof PATHS>;

const TOKEN = unread("string").describe("The token");
const RULES = text().describe("The rules, for a caller without an entity");

/** The capabilities on each path; for a single path, `capabilities` repeats them. */
const CAPABILITIES = injectedAnswer({ "*": ["string"] });

const INVALID_TOKEN = invalid("invalid token");

/** Capabilities of tokens on paths. Messages are the reference's (sys/capabilities). */
export const CAPABILITY_ROUTES: readonly Route[] = [
  tokenRoute("update", "sys/capabilities-self", {
    summary: "Returns the capabilities of the caller on paths.",
    operationId: "query-token-self-capabilities",
    answers: CAPABILITIES,
    input: fieldSchema({ ...PATHS, token: TOKEN }),
    prepare: async ({ fields }) => readPaths(fields),
    handle: async (context) => answer(context, context.prepared, context.caller.record),
  }),

  tokenRoute("update", "sys/capabilities", {
    summary: "Returns the capabilities of a token on paths.",
    operationId: "query-token-capabilities",
    answers: CAPABILITIES,
    input: fieldSchema({ ...PATHS, token: TOKEN }),
    async prepare(context) {
      const { token } = context.fields;
      if (token === undefined || token === "") return refuse("no token found");
      if (typeof token !== "string") return err(INVALID_TOKEN);
      return readAsked(context, await onToken(context, token, lookUpOf));
    },
    action: async (context) => inCallersTree(context, context.prepared.named),
    handle: (context) => answerForSubject(context, INVALID_TOKEN),
  }),

  tokenRoute("update", "sys/capabilities-accessor", {
    summary: "Returns the capabilities of the token that has this accessor.",
    operationId: "query-token-accessor-capabilities",
    answers: CAPABILITIES,
    input: fieldSchema({ ...PATHS, accessor: pasted().describe("The accessor of the token") }),
    prepare: async (context) => readAsked(context, await onAccessor(context, context.fields.accessor, lookUpOf)),
    action: async (context) => inCallersTree(context, context.prepared.named),
    handle: (context) => answerForSubject(context, invalid("invalid accessor")),
  }),

  // The caller sends the policy, so the answer reveals nothing of the policies that are stored.
  tokenRoute("update", "sys/capabilities-policy", {
    summary: "Returns the capabilities that a policy, stored or not, grants alone.",
    operationId: "query-policy-capabilities",
    answers: CAPABILITIES,
    input: fieldSchema({ ...PATHS, policy: RULES }),
    prepare: async ({ fields }) => {
      if (fields.policy === "") return refuse("'policy' parameter not supplied or empty");
      const rules = parsePolicy(fields.policy, currentTime());
      if (!rules.ok) return refuse(policyErrorText(rules.error));
      const paths = readPaths(fields);
      return paths.ok ? ok({ rules: rules.value, paths: paths.value }) : paths;
    },
    handle: async (context) => {
      const { rules, paths } = context.prepared;
      const named = { name: "policy", rules, allowSlashes: false, allowWildcards: false };
      return answerByAcl(context, paths, compileAcl([named], { now: currentTime() }));
    },
  }),
];

/** What a request asks about: a token, which may be unknown, and paths. */
interface Asked {
  readonly named: NamedToken;
  readonly paths: readonly string[];
}

function readAsked({ fields }: PresentedContext<PathFields>, named: Result<NamedToken>): Result<Asked> {
  const paths = readPaths(fields);
  if (!named.ok) return named;
  return paths.ok ? ok({ named: named.value, paths: paths.value }) : paths;
}

function readPaths({ paths, path }: PathFields): Result<readonly string[]> {
  const asked = paths?.length ? paths : (path ?? []);
  if (asked.length === 0) return refuse("paths must be supplied");
  return asked.some((one) => one.length > MAX_PATH_LENGTH) ? refuse("a path is too long") : ok(asked);
}

async function answerForSubject(context: CallContext<PathFields, Asked>, unknown: Failure): Answered {
  const { named, paths } = context.prepared;
  const holder = await holderOf(context, named);
  return holder ? answer(context, paths, holder.record) : err(unknown);
}

async function answer(context: CallContext, paths: readonly string[], holder: TokenRecord): Answered {
  const acl = await aclOfToken(context.env, context.installation, holder);
  // When the entity of the token is disabled or deleted, the token has no capabilities.
  return acl.ok ? answerByAcl(context, paths, acl.value) : err(DENIED);
}

async function answerByAcl(context: CallContext, paths: readonly string[], acl: Acl): Answered {
  const { installation } = context;
  const now = currentTime();
  const entries = await Promise.all(
    paths.map(async (path): Promise<[string, string[]]> => {
      const others = acl.isRoot ? null : await otherPathsOf(context, path);
      const mount = installation.mountPathServing(path.replace(/^\/+/, ""));
      return [path, capabilitiesOf(acl, { path, mount, ...others }, now)];
    }),
  );
  const only = paths.length === 1 ? entries[0] : undefined;
  const data = Object.fromEntries(only ? [...entries, ["capabilities", only[1]]] : entries);
  return injectedReply(data);
}

async function otherPathsOf({ env, installation }: CallContext, path: string): Promise<OtherPaths | null> {
  for (const { otherPaths } of env.kinds.credentials.flatMap(({ apis }) => apis)) {
    const found = (await otherPaths?.({ env, installation }, path)) ?? null;
    if (found !== null) return found;
  }
  return null;
}
