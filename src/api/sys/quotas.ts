import * as z from "zod";
import { type Route, type RouteDescription, simpleRoute } from "../../auth/route.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { DEFAULT_QUOTA_CONFIG, type QuotaConfig, type RateLimitQuota } from "../../quota/quota.ts";
import { refreshInstallation } from "../../system/installation.ts";
import { systemOf } from "../../system/system.ts";
import { decimal, duration, flag, list, sent, text } from "../../wire/fields.ts";
import { PAGE, pageOf } from "../../wire/page.ts";
import { dataReply, EMPTY, keysReply, type Reply } from "../../wire/reply.ts";

const NO_FIELDS = z.object({});
const QUOTA = "sys/quotas/rate-limit/:name{\\w(?:[\\w.-]*\\w)?}";

/** The reference writes and shows a type of quota, of which there is one. */
const QUOTA_FIELDS = z.object({
  type: text(),
  path: text(),
  role: text(),
  rate: decimal(),
  interval: duration(),
  block_interval: duration(),
  inheritable: sent(flag(false)),
});

const CONFIG_FIELDS = z.object({
  rate_limit_exempt_paths: list(),
  enable_rate_limit_audit_logging: flag(DEFAULT_QUOTA_CONFIG.auditLogging),
  enable_rate_limit_response_headers: flag(DEFAULT_QUOTA_CONFIG.responseHeaders),
});

/** Rate limit quotas: how many requests of one kind each client address may send. */
export const QUOTA_ROUTES: readonly Route[] = [
  simpleRoute(
    "list",
    "sys/quotas/rate-limit",
    z.object(PAGE),
    async ({ env, fields }) => {
      const quotas = await systemOf(env).listQuotas();
      const names = quotas.map(({ name }) => name);
      return ok(keysReply(pageOf(names, fields)));
    },
    described("Lists the names of all rate limit quotas."),
  ),

  simpleRoute(
    "read",
    QUOTA,
    NO_FIELDS,
    async ({ env, params }) => {
      const quota = (await systemOf(env).listQuotas()).find(({ name }) => name === params.name);
      return quota ? ok(dataReply(renderQuota(quota))) : err({ code: "not_found" });
    },
    described("Shows a rate limit quota."),
  ),

  simpleRoute(
    "update",
    QUOTA,
    QUOTA_FIELDS,
    async ({ env, params: { name = "" }, fields }) => {
      const { path, role, rate, interval, block_interval: blockInterval, inheritable } = fields;
      const written = await systemOf(env).writeQuota({ name, path, role, rate, interval, blockInterval, inheritable });
      return written.ok ? afterChange(env) : written;
    },
    described("Makes or replaces a rate limit quota of the installation, a mount, a path below one, or a role."),
  ),

  simpleRoute(
    "delete",
    QUOTA,
    NO_FIELDS,
    async ({ env, params: { name = "" } }) => {
      await systemOf(env).deleteQuota(name);
      return afterChange(env);
    },
    described("Deletes a rate limit quota."),
  ),

  simpleRoute(
    "read",
    "sys/quotas/config",
    NO_FIELDS,
    async ({ env }) => ok(dataReply(renderConfig(await systemOf(env).quotaConfig()))),
    described("Shows what holds for all rate limit quotas."),
  ),

  simpleRoute(
    "update",
    "sys/quotas/config",
    CONFIG_FIELDS,
    async ({ env, fields }) => {
      const configured = await systemOf(env).configureQuotas({
        exemptPaths: fields.rate_limit_exempt_paths,
        auditLogging: fields.enable_rate_limit_audit_logging,
        responseHeaders: fields.enable_rate_limit_response_headers,
      });
      return configured.ok ? afterChange(env) : configured;
    },
    described("Replaces what holds for all rate limit quotas; what is not sent is set back."),
  ),
];

async function afterChange(env: Env): Promise<Result<Reply, Failure>> {
  const refreshed = await refreshInstallation(env);
  return refreshed.ok ? ok(EMPTY) : refreshed;
}

function renderQuota(quota: RateLimitQuota): Record<string, unknown> {
  return {
    type: "rate-limit",
    name: quota.name,
    path: quota.mountPath + quota.pathSuffix,
    role: quota.role,
    rate: quota.rate,
    interval: quota.interval,
    block_interval: quota.blockInterval,
    inheritable: quota.inheritable,
  };
}

function renderConfig({ exemptPaths, auditLogging, responseHeaders }: QuotaConfig): Record<string, unknown> {
  return {
    rate_limit_exempt_paths: exemptPaths,
    enable_rate_limit_audit_logging: auditLogging,
    enable_rate_limit_response_headers: responseHeaders,
  };
}

function described(summary: string): RouteDescription {
  return { summary };
}
