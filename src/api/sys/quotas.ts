import { listRoute, showRoute } from "../../auth/record-routes.ts";
import { type Route, simpleRoute, tokenRoute, withParameters } from "../../auth/route.ts";
import { NO_CONTENT } from "../../auth/route-description.ts";
import { attempted, changedOnce } from "../../base/lost-call-retry.ts";
import { ok, okUnless, refuse } from "../../base/result.ts";
import {
  checkQuotaConfig,
  DEFAULT_QUOTA_CONFIG,
  type QuotaConfig,
  quotaWriteProblem,
  type RateLimitQuota,
} from "../../quota/quota.ts";
import { systemOf } from "../../system/system.ts";
import { fieldSchema } from "../../wire/field-schema.ts";
import { decimal, duration, flag, list, sent, text } from "../../wire/fields.ts";
import { pageOf } from "../../wire/pagination.ts";
import { namedSegment } from "../../wire/path-segment.ts";
import { view } from "../../wire/view.ts";
import { changedReply } from "../change-reply.ts";

const QUOTA = `sys/quotas/rate-limit/${namedSegment("name")}`;

const QUOTA_FIELDS = fieldSchema({
  type: text().describe("Ignored: there is one type"),
  path: text().describe("A mount, or a path below one, which may end in `*`; empty: every request"),
  role: text().describe("Only logins at the mount with this role"),
  rate: decimal().describe("Requests of a client in an interval"),
  interval: duration().describe("Length of an interval; a second by default"),
  block_interval: duration().describe("How long a client above the limit is refused after the interval"),
  inheritable: sent(flag(false)).describe("Stored and shown"),
});

const CONFIG_FIELDS = fieldSchema({
  rate_limit_exempt_paths: list().describe(
    "Beginnings of paths that are not counted; `!` before one removes the exemption",
  ),
  enable_rate_limit_audit_logging: flag(DEFAULT_QUOTA_CONFIG.auditLogging).describe(
    "True: every refusal is logged. False: the first of a client and interval",
  ),
  enable_rate_limit_response_headers: flag(DEFAULT_QUOTA_CONFIG.responseHeaders).describe(
    "True: answers have headers with what is left",
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

/** Rate limit quotas: limits on the requests of each client address. */
export const QUOTA_ROUTES: readonly Route[] = withParameters({ name: "Name of the quota" }, [
  listRoute("sys/quotas/rate-limit", {
    summary: "Lists the names of all rate limit quotas.",
    operationId: "rate-limit-quotas-list",
    names: async ({ env }, after, limit) => {
      const names = (await systemOf(env).listQuotas()).map(({ name }) => name);
      return pageOf(names, { after, limit });
    },
  }),

  showRoute(QUOTA, {
    summary: "Shows a rate limit quota.",
    operationId: "rate-limit-quotas-read",
    view: QUOTA_VIEW,
    read: async ({ env, params }) =>
      (await systemOf(env).listQuotas()).find(({ name }) => name === params.name) ?? null,
  }),

  tokenRoute("update", QUOTA, {
    summary: "Creates or replaces a rate limit quota.",
    operationId: "rate-limit-quotas-write",
    answers: NO_CONTENT,
    input: QUOTA_FIELDS,
    prepare: async ({ params: { name = "" }, fields }) => {
      const { path, role, rate, interval, block_interval: blockInterval, inheritable } = fields;
      const quota = { name, path, role, rate, interval, blockInterval, inheritable };
      return okUnless(quotaWriteProblem(quota), quota);
    },
    handle: async ({ env, prepared }) =>
      changedReply(env, await changedOnce(env, (attempt) => systemOf(env).writeQuota(prepared, attempt))),
  }),

  simpleRoute("delete", QUOTA, {
    summary: "Deletes a rate limit quota.",
    operationId: "rate-limit-quotas-delete",
    answers: NO_CONTENT,
    handle: async ({ env, params: { name = "" } }) =>
      changedReply(env, ok(await attempted(env, (attempt) => systemOf(env).deleteQuota(name, attempt)))),
  }),

  showRoute("sys/quotas/config", {
    summary: "Shows the settings of all rate limit quotas.",
    operationId: "rate-limit-quotas-read-configuration",
    view: CONFIG_VIEW,
    read: ({ env }) => systemOf(env).quotaConfig(),
  }),

  tokenRoute("update", "sys/quotas/config", {
    summary: "Replaces the settings of quotas; those that are not sent get their defaults.",
    operationId: "rate-limit-quotas-configure",
    answers: NO_CONTENT,
    input: CONFIG_FIELDS,
    prepare: async ({ fields }) => {
      const checked = checkQuotaConfig({
        exemptPaths: fields.rate_limit_exempt_paths,
        auditLogging: fields.enable_rate_limit_audit_logging,
        responseHeaders: fields.enable_rate_limit_response_headers,
      });
      return checked.ok ? checked : refuse(checked.error);
    },
    handle: async ({ env, prepared }) =>
      changedReply(env, await changedOnce(env, (attempt) => systemOf(env).configureQuotas(prepared, attempt))),
  }),
]);
