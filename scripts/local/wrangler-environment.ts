/** The environment that Wrangler runs in: no colours, no banner, no report to anybody, no log of its own. */
export const WRANGLER_ENVIRONMENT = {
  NO_COLOR: "1",
  FORCE_COLOR: undefined,
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_WRITE_LOGS: "false",
} as const;
