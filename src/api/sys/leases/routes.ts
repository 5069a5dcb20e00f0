import { type Route, simpleRoute } from "../../../auth/route.ts";
import { BEGUN } from "../../../auth/route-description.ts";
import { logInfo } from "../../../base/log.ts";
import { ok } from "../../../base/result.ts";
import { walkOf } from "../../../lease/walk.ts";
import type { WalkJob } from "../../../lease/walk-job.ts";
import { NO_FIELDS } from "../../../wire/fields.ts";
import { tidyReply } from "../../../wire/reply.ts";
import { LEASE_LOOKUP_ROUTES, LEASE_REGISTRATION_ROUTES, LEASE_RENEWAL_ROUTES } from "./leases.ts";
import { IRREVOCABLE_LEASE_ROUTES, LEASE_REVOCATION_ROUTES } from "./revoke.ts";

/** Leases of tokens and of secrets, at `sys/leases/`. */
export const LEASE_ROUTES: readonly Route[] = [
  ...LEASE_LOOKUP_ROUTES,
  ...LEASE_RENEWAL_ROUTES,
  ...LEASE_REVOCATION_ROUTES,
  simpleRoute("update", "sys/leases/tidy", {
    summary: "Revokes leases and tokens whose end was not seen to.",
    operationId: "leases-tidy",
    answers: BEGUN,
    input: NO_FIELDS,
    handle: async ({ env }) => {
      const job: WalkJob = { mode: "tidy", prefix: "" };
      const started = await walkOf(env, job).startUnlessRunning(job);
      if (!started) logInfo(env, { type: "lease tidy", skipped: "one is under way" });
      return ok(tidyReply(true));
    },
  }),
  ...IRREVOCABLE_LEASE_ROUTES,
  ...LEASE_REGISTRATION_ROUTES,
];
