import { holderOf, lookUpOf, onAccessor, onToken } from "../../auth/named-token.ts";
import { type Route, tokenRoute } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { MAX_TOKEN_LENGTH } from "../../base/limits.ts";
import { err, invalid, ok, refuse } from "../../base/result.ts";
import { aclOf, allPolicies, ENTITY_PROBLEMS, entityProblem, loadActiveEntity } from "../../identity/entity-copies.ts";
import { type Grant, hasLimits, listCapabilities, writtenRules } from "../../policy/merged-rules.ts";
import { patternText } from "../../policy/pattern.ts";
import { fieldSchema } from "../../wire/field-schema.ts";
import { pasted, unread } from "../../wire/fields.ts";
import { dataReply } from "../../wire/reply.ts";
import { view } from "../../wire/view.ts";

/** Maximum number of rules in an answer. */
const MAX_RULES = 1_000;
/** Maximum number of places of one rule in policies. */
const MAX_PLACES = 16;

const pathOf = ({ pattern }: Grant): string => patternText(pattern);

/** The rule of a path. */
const RULE = view<Grant>({
  path: ["string", pathOf],
  capabilities: [["string"], listCapabilities],
  limited: ["boolean", hasLimits],
  policies: [
    [{ name: "string", path: "string" }],
    (grant) =>
      writtenRules(grant)
        .slice(0, MAX_PLACES)
        .map(({ policy, writtenPath }) => ({ name: policy, path: writtenPath })),
  ],
});

/** The rules of a token, of its own policies and those of its entity. */
export const EXPLAIN_RULES_ROUTE: Route = tokenRoute("update", "sys/explain/rules", {
  summary: "Shows the rules that apply to a token, and the policies that they come from.",
  operationId: "explain-rules",
  answers: dataAnswer({
    root: "boolean",
    policies: ["string"],
    missing_policies: ["string"],
    rules: [RULE.shape],
    more: "boolean",
  }),
  input: fieldSchema({
    token: unread("string").describe("The token"),
    accessor: pasted().describe("Its accessor, in the place of the token"),
  }),
  // Who may ask about each path may ask about all of them.
  otherPaths: async () => ({ alternatePath: "sys/explain/access" }),
  prepare: async ({ fields: { token = "", accessor } }) => {
    if (typeof token !== "string" || token.length > MAX_TOKEN_LENGTH) return refuse("invalid token");
    return (token === "") === (accessor === "") ? refuse("supply either token or accessor") : ok(token);
  },
  async handle(context) {
    const { env, installation, prepared: token, fields } = context;
    const named =
      token === "" ? await onAccessor(context, fields.accessor, lookUpOf) : await onToken(context, token, lookUpOf);
    if (!named.ok) return named;
    const holder = await holderOf(context, named.value);
    if (!holder) return err(invalid(token === "" ? "invalid accessor" : "invalid token"));
    const { record } = holder;
    const entity = await loadActiveEntity(env, record.entityId);
    if (!entity.ok) {
      const problem = await entityProblem(env, record.entityId);
      return refuse(`the token is refused: ${problem ? ENTITY_PROBLEMS[problem] : "its entity can't be used"}`);
    }
    const now = currentTime();
    const policies = allPolicies(record.policies, entity.value);
    const acl = aclOf(installation, record.policies, entity.value, now);
    const rules = acl.grants(now).toSorted((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1));
    return dataReply({
      root: acl.isRoot,
      policies,
      missing_policies: installation.policies.absent(policies, now),
      rules: rules.slice(0, MAX_RULES).map(RULE.show),
      more: rules.length > MAX_RULES,
    });
  },
});
