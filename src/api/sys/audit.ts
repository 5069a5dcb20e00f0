import * as z from "zod";
import { type Route, simpleRoute } from "../../auth/route.ts";
import { TO_DESCRIBE } from "../../auth/route-description.ts";
import { invalid } from "../../base/errors.ts";
import { err, ok } from "../../base/result.ts";
import { auditHash } from "../../wire/audit.ts";
import { ANY_FIELDS, text } from "../../wire/fields.ts";
import { dataReply, EMPTY } from "../../wire/reply.ts";

/**
 * The audit log has one place, the Worker's console, set by who deploys. A place chosen over the API would let a caller with
 * rights write files or send requests (CVE-2025-54997), so there is none.
 */
export const AUDIT_ROUTES: readonly Route[] = [
  simpleRoute("read", "sys/audit", TO_DESCRIBE, z.object({}), async () => ok({ kind: "data", data: {}, inject: true })),

  simpleRoute("update", "sys/audit/:path{.+}", TO_DESCRIBE, ANY_FIELDS, async () =>
    err(invalid("cannot enable audit device via API; use declarative, config-based audit device management instead")),
  ),

  simpleRoute("delete", "sys/audit/:path{.+}", TO_DESCRIBE, z.object({}), async () => ok(EMPTY)),

  simpleRoute(
    "update",
    "sys/audit-hash/:path{.+}",
    TO_DESCRIBE,
    z.object({ input: text() }),
    async ({ installation, fields }) =>
      fields.input === ""
        ? err(invalid('the "input" parameter is empty'))
        : ok(dataReply({ hash: await auditHash(installation.keys, fields.input) })),
  ),
];
