import { type CallContext, type Route, simpleRoute } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { currentTime, formatRfc3339 } from "../../base/clock.ts";
import { NOT_FOUND } from "../../base/result.ts";
import { normalizePolicyName } from "../../policy/policy-names.ts";
import type { PolicyVersion } from "../../system/policy-versions.ts";
import { systemOf } from "../../system/system.ts";
import { fieldSchema, strictSchema } from "../../wire/field-schema.ts";
import { integer, sent } from "../../wire/fields.ts";
import { PAGE } from "../../wire/pagination.ts";
import { dataReply } from "../../wire/reply.ts";
import { view } from "../../wire/view.ts";
import { POLICY_VIEW } from "./policy-view.ts";
import { ACTOR, actorObject } from "./tokens/end-of-token.ts";

const PATH = "sys/policies/versions/acl/:name{.+}";

const VERSION_VIEW = view<PolicyVersion>({
  version: ["integer", ({ version }) => version],
  modified: ["string", ({ modifiedAt }) => formatRfc3339(modifiedAt)],
  by: [ACTOR, ({ by }) => actorObject(by)],
});

const ONE_VERSION = strictSchema({
  version: sent(integer()).describe("The version that is shown; the current one when absent"),
});

/** The kept versions of a policy. To go back to one, its text is written again with `cas`. A built-in policy has none. */
export const POLICY_VERSION_ROUTES: readonly Route[] = [
  simpleRoute("list", PATH, {
    summary: "Lists its versions, the newest first, with their writers.",
    operationId: "policies-list-acl-versions",
    answers: dataAnswer({ keys: ["string"], key_info: { "*": VERSION_VIEW.shape } }),
    input: fieldSchema(PAGE),
    handle: async (context) => {
      const { after, limit } = context.fields;
      const rest = (await versionsOf(context)).filter(({ version }) => after === "" || version < Number(after));
      const shown = limit > 0 ? rest.slice(0, limit) : rest;
      if (shown.length === 0) return NOT_FOUND;
      const info = shown.map((one) => [String(one.version), VERSION_VIEW.show(one)]);
      return dataReply({ keys: shown.map(({ version }) => String(version)), key_info: Object.fromEntries(info) });
    },
  }),
  simpleRoute("read", PATH, {
    summary: "Shows a version of a policy.",
    operationId: "policies-read-acl-version",
    answers: dataAnswer({ ...POLICY_VIEW.shape, by: ACTOR, policy: "string" }),
    input: ONE_VERSION,
    handle: async (context) => {
      const { version: wanted } = context.fields;
      const found = (await versionsOf(context)).find(({ version }) => wanted === undefined || version === wanted);
      if (!found) return NOT_FOUND;
      return dataReply({ ...POLICY_VIEW.show(found), by: actorObject(found.by), policy: found.text });
    },
  }),
];

function versionsOf({ env, params }: CallContext): Promise<PolicyVersion[]> {
  return systemOf(env).policyVersions(normalizePolicyName(params.name ?? ""), currentTime());
}
