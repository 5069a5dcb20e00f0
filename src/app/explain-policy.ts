import { type Route, tokenRoute } from "../auth/route.ts";
import { dataAnswer } from "../auth/route-description.ts";
import { currentTime } from "../base/clock.ts";
import { ok, refuse } from "../base/result.ts";
import { linesOfRules, parsePolicy, policyErrorText } from "../policy/parse.ts";
import { fieldSchema } from "../wire/field-schema.ts";
import { text } from "../wire/fields.ts";
import { dataReply } from "../wire/reply.ts";
import type { RouteTables } from "./route-tables.ts";
import { unservedPaths } from "./unserved-paths.ts";

/** Maximum number of rules that are looked at, and of those that an answer names. */
const MAX_RULES = 1_000;
const MAX_NAMED = 100;

/** The route `sys/explain/policy`. `tables` is a function, because they include this route. */
export function explainPolicyRoute(tables: () => RouteTables): Route {
  return tokenRoute("update", "sys/explain/policy", {
    summary: "Shows the paths of a policy, stored or not, that no endpoint has.",
    operationId: "explain-policy",
    answers: dataAnswer({ unserved: [{ path: "string", lines: ["integer"] }] }),
    input: fieldSchema({ policy: text().describe("The rules") }),
    // Who may check a text may check all of it.
    otherPaths: async () => ({ alternatePath: "sys/capabilities-policy" }),
    prepare: async ({ fields: { policy } }) => {
      if (policy === "") return refuse("'policy' parameter not supplied or empty");
      const rules = parsePolicy(policy, currentTime());
      return rules.ok ? ok(rules.value) : refuse(policyErrorText(rules.error));
    },
    handle: async ({ installation, fields, prepared: rules }) => {
      const paths = rules.slice(0, MAX_RULES).map(({ path }) => path);
      const unserved = unservedPaths(paths, tables(), installation.mounts).slice(0, MAX_NAMED);
      const lines = linesOfRules(fields.policy);
      return dataReply({ unserved: unserved.map((path) => ({ path, lines: lines.get(path) ?? [] })) });
    },
  });
}
