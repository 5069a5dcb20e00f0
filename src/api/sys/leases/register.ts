import { registerLease } from "../../../auth/register-lease.ts";
import { type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer, ENVELOPE } from "../../../auth/route-description.ts";
import { invalid } from "../../../base/errors.ts";
import { err, ok } from "../../../base/result.ts";
import { toBase64 } from "../../../crypto/bytes.ts";
import { endpointSettings, readRevocationEndpoint } from "../../../lease/revocation-endpoint.ts";
import { SIGNATURE_HEADER, signingKey } from "../../../lease/signature.ts";
import { anyObject, duration, fieldSchema, flag, text } from "../../../wire/fields.ts";
import { dataReply } from "../../../wire/reply.ts";
import { grantedReply } from "./renew.ts";

/** Fields of a lease that an engine elsewhere registers. */
const REGISTER_FIELDS = fieldSchema({
  token: text().describe("The token that the lease hangs on"),
  accessor: text().describe("The accessor of that token, in the place of it"),
  path: text().describe("The path that the lease is listed under"),
  ttl: duration().describe("How long it lives"),
  max_ttl: duration().describe("How long it lives at most"),
  renewable: flag(true).describe("False: it can't be renewed"),
  target: text().describe("Where its revocation is sent to"),
  data: anyObject().describe("What the revocation sends to the target"),
});

/** For engines elsewhere: the registration of a lease, and the key that the revocations they receive are signed with. */
export const LEASE_REGISTRATION_ROUTES: readonly Route[] = [
  simpleRoute(
    "update",
    "sys/leases/register",
    {
      summary: "Gives a lease on a secret that an engine elsewhere has made.",
      operationId: "leases-register",
      answers: ENVELOPE,
    },
    REGISTER_FIELDS,
    async ({ env, installation, request, fields }) => {
      const { token, accessor, path, ttl, max_ttl: maxTtl, renewable, target, data } = fields;
      const registration = { token, accessor, path, ttl, maxTtl, renewable, target, data: data ?? null };
      return grantedReply(await registerLease(env, installation, registration, request.notes));
    },
  ),
  simpleRoute(
    "update",
    "sys/leases/signing-key",
    {
      summary: "Answers the key by which a target knows that a revocation is genuine.",
      operationId: "leases-read-signing-key",
      answers: dataAnswer({ key: "string", algorithm: "string", header: "string" }),
    },
    fieldSchema({ target: text().describe("Where its revocation is sent to") }),
    async (context) => {
      const { env, installation, fields } = context;
      const target = readRevocationEndpoint(fields.target, endpointSettings(env));
      if (!target.ok) return err(invalid(target.error));
      const key = await signingKey(installation.keys, target.value);
      return ok(dataReply({ key: toBase64(key), algorithm: "HMAC-SHA256", header: SIGNATURE_HEADER }));
    },
  ),
];
