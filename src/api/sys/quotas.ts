import { listRoute, showRoute } from "../../auth/record-routes.ts";
import { type Route, simpleRoute, withParameters } from "../../auth/route.ts";
import { NO_CONTENT } from "../../auth/route-description.ts";
import { ok } from "../../base/result.ts";
import { DEFAULT_QUOTA_CONFIG, type QuotaConfig, type RateLimitQuota } from "../../quota/quota.ts";
import { systemOf } from "../../system/system.ts";
import { decimal, duration, fieldSchema, flag, list, NO_FIELDS, sent, text } from "../../wire/fields.ts";
import { pageOf } from "../../wire/page.ts";
import { namedSegment } from "../../wire/path-name.ts";
import { view } from "../../wire/view.ts";
import { changedReply } from "../changed-reply.ts";

const QUOTA = `sys/quotas/rate-limit/${namedSegment("name")}`;

/** The reference shows a type of quota, of which there is one, and takes it back. */
const QUOTA_FIELDS = fieldSchema({
  type: text().describe("Not looked at: there is one type"),
  path: text().describe("A mount, or a path below one that `*` may end; empty for every request"),
  role: text().describe("Logins at the mount by this role only"),
  rate: decimal().describe("Requests of one client in an interval"),
  interval: duration().describe("Length of an interval; one second when absent"),
  block_interval: duration().describe("How long a client that sends more is refused, beyond its interval"),
  inheritable: sent(flag(false)).describe("Kept for clients: there are no namespaces that could inherit"),
});

const CONFIG_FIELDS = fieldSchema({
  rate_limit_exempt_paths: list().describe(
    "Beginnings of paths that no quota counts; `!` before one takes it out again",
  ),
  enable_rate_limit_audit_logging: flag(DEFAULT_QUOTA_CONFIG.auditLogging).describe(
    "Every refusal is on record, not only the first of each client and interval",
  ),
  enable_rate_limit_response_headers: flag(DEFAULT_QUOTA_CONFIG.responseHeaders).describe(
    "Answers say how many requests are left",
  ),
});

const QUOTA_VIEW = view<RateLimitQuota>({
  type: ["string", () => "rate-limit"],
  name: ["string", (quota) => quota.name],
  path: ["string", (quota) => quota.mountPath + quota.pathSuffix],
  role: ["string", (quota) => quota.role],
  rate: ["number", (quota) => quota.rate],
  interval: ["integer", (quota) => quota.interval],
  block_interval: ["integer", (quota) => quota.blockInterval],
  inheritable: ["boolean", (quota) => quota.inheritable],
});

const CONFIG_VIEW = view<QuotaConfig>({
  rate_limit_exempt_paths: [["string"], (config) => config.exemptPaths],
  enable_rate_limit_audit_logging: ["boolean", (config) => config.auditLogging],
  enable_rate_limit_response_headers: ["boolean", (config) => config.responseHeaders],
});

/** Rate limit quotas: how many requests of one kind each client address may send. */
export const QUOTA_ROUTES: readonly Route[] = withParameters({ name: "Name of the quota" }, [
  listRoute("sys/quotas/rate-limit", {
    summary: "Lists the names of all rate limit quotas.",
    operationId: "rate-limit-quotas-list",
    names: async ({ env }, after, limit) => {
      const quotas = await systemOf(env).listQuotas();
      return pageOf(
        quotas.map(({ name }) => name),
        { after, limit },
      );
    },
  }),

  showRoute(QUOTA, {
    summary: "Shows a rate limit quota.",
    operationId: "rate-limit-quotas-read",
    view: QUOTA_VIEW,
    read: async ({ env, params }) =>
      (await systemOf(env).listQuotas()).find(({ name }) => name === params.name) ?? null,
  }),

  simpleRoute("update", QUOTA, {
    summary: "Makes or replaces a rate limit quota of the installation, a mount, a path below one, or a role.",
    operationId: "rate-limit-quotas-write",
    answers: NO_CONTENT,
    input: QUOTA_FIELDS,
    handle: async ({ env, params: { name = "" }, fields }) => {
      const { path, role, rate, interval, block_interval: blockInterval, inheritable } = fields;
      const quota = { name, path, role, rate, interval, blockInterval, inheritable };
      return changedReply(env, await systemOf(env).writeQuota(quota));
    },
  }),

  simpleRoute("delete", QUOTA, {
    summary: "Deletes a rate limit quota.",
    operationId: "rate-limit-quotas-delete",
    answers: NO_CONTENT,
    input: NO_FIELDS,
    handle: async ({ env, params: { name = "" } }) => changedReply(env, ok(await systemOf(env).deleteQuota(name))),
  }),

  showRoute("sys/quotas/config", {
    summary: "Shows what holds for all rate limit quotas.",
    operationId: "rate-limit-quotas-read-configuration",
    view: CONFIG_VIEW,
    read: ({ env }) => systemOf(env).quotaConfig(),
  }),

  simpleRoute("update", "sys/quotas/config", {
    summary: "Replaces what holds for all rate limit quotas; what is not sent is set back.",
    operationId: "rate-limit-quotas-configure",
    answers: NO_CONTENT,
    input: CONFIG_FIELDS,
    handle: async ({ env, fields }) => {
      const configured = await systemOf(env).configureQuotas({
        exemptPaths: fields.rate_limit_exempt_paths,
        auditLogging: fields.enable_rate_limit_audit_logging,
        responseHeaders: fields.enable_rate_limit_response_headers,
      });
      return changedReply(env, configured);
    },
  }),
]);
