import { type Route, simpleRoute, tokenRoute, withParameters } from "../../auth/route.ts";
import { dataAnswer, injectedAnswer, NO_CONTENT } from "../../auth/route-description.ts";
import { ok, okUnless, refuse } from "../../base/result.ts";
import { auditHash } from "../../wire/audit-masking.ts";
import { ANY_FIELDS, fieldSchema } from "../../wire/field-schema.ts";
import { text } from "../../wire/fields.ts";
import { dataReply, EMPTY, injectedReply } from "../../wire/reply.ts";

const NO_DEVICES = refuse(
  "cannot enable audit device via API; use declarative, config-based audit device management instead",
);

/**
 * The audit log has one device, the console of the Worker. An API that adds devices would let a caller write files or
 * send requests (CVE-2025-54997). The refusal is the reference's (sys/audit).
 */
export const AUDIT_ROUTES: readonly Route[] = withParameters({ path: "The name of an audit device" }, [
  simpleRoute("read", "sys/audit", {
    summary: "Lists the audit devices: none.",
    operationId: "auditing-list-enabled-devices",
    answers: injectedAnswer({ "*": "object" }),
    handle: async () => injectedReply({}),
  }),

  tokenRoute("update", "sys/audit/:path{.+}", {
    summary: "Refuses: audit devices can't be enabled over the API.",
    operationId: "auditing-enable-device",
    fields: {
      type: { shape: "string", description: "The type of the device" },
      description: { shape: "string", description: "Description of the device" },
      options: { shape: "object", description: "The settings of the device" },
      local: { shape: "boolean", description: "Not replicated" },
    },
    answers: NO_CONTENT,
    input: ANY_FIELDS,
    prepare: async () => NO_DEVICES,
    handle: async () => NO_DEVICES,
  }),

  simpleRoute("delete", "sys/audit/:path{.+}", {
    summary: "Does nothing: there is no audit device to disable.",
    operationId: "auditing-disable-device",
    answers: NO_CONTENT,
    handle: async () => ok(EMPTY),
  }),

  tokenRoute("update", "sys/audit-hash/:path{.+}", {
    summary: "Returns the hash of a text in the audit log.",
    operationId: "auditing-calculate-hash",
    answers: dataAnswer({ hash: "string" }),
    input: fieldSchema({ input: text().describe("The text") }),
    prepare: async ({ fields: { input } }) => okUnless(input === "" ? 'the "input" parameter is empty' : null, input),
    handle: async ({ installation, prepared }) => dataReply({ hash: await auditHash(installation.keys, prepared) }),
  }),
]);
