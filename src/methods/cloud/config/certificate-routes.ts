import * as z from "zod";
import { type Route, simpleRoute, tokenRoute } from "../../../auth/route.ts";
import { TO_DESCRIBE } from "../../../auth/route-description.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { sent, text } from "../../../wire/fields.ts";
import { dataReply, EMPTY } from "../../../wire/reply.ts";
import { namedSegment } from "../../path-name.ts";
import { parseCertificateType, parseRegisteredPem, type RegisteredCertificate } from "../certificates/registered.ts";
import { listRoute } from "../list-route.ts";
import { cloudAuthOf } from "../mount.ts";

const PATH = `config/certificate/${namedSegment("cert_name")}`;
const FIELDS = z.object({ cert_name: z.unknown().optional(), cloud_public_cert: sent(text()), type: sent(text()) });

/** `config/certificate/:cert_name` and `config/certificates`. The published certificates are not among them. */
export const CERTIFICATE_ROUTES: readonly Route[] = [
  listRoute("config/certificates", (auth, after, limit) => auth.listCertificates(after, limit)),

  simpleRoute("read", PATH, TO_DESCRIBE, z.object({}), async (context) => {
    const certificate = await cloudAuthOf(context).readCertificate(context.params.cert_name ?? "");
    if (!certificate) return err({ code: "not_found" });
    return ok(dataReply({ cloud_public_cert: certificate.pem, type: certificate.type }));
  }),

  tokenRoute("update", PATH, TO_DESCRIBE, FIELDS, {
    createsOrUpdates: true,
    prepare: async ({ fields }) => readCertificateFields(fields),
    async handle(context) {
      const { params, prepared, verdict } = context;
      const auth = cloudAuthOf(context);
      const written = await auth.writeCertificate(params.cert_name ?? "", prepared.pem, prepared.type, verdict);
      return written.ok ? ok(EMPTY) : written;
    },
  }),

  simpleRoute("delete", PATH, TO_DESCRIBE, z.object({}), async (context) => {
    await cloudAuthOf(context).deleteCertificate(context.params.cert_name ?? "");
    return ok(EMPTY);
  }),
];

interface CertificateWrite {
  readonly pem: string;
  /** null keeps the type of the certificate that is replaced. */
  readonly type: RegisteredCertificate["type"] | null;
}

/** A certificate that does not parse is refused here: stored, it would be tried at every login. */
function readCertificateFields(fields: z.infer<typeof FIELDS>): Result<CertificateWrite, Failure> {
  const type = fields.type === undefined ? ok(null) : parseCertificateType(fields.type);
  if (!type.ok) return type;
  if (fields.cloud_public_cert === undefined) return err(invalid("missing cloud_public_cert"));
  const pem = parseRegisteredPem(fields.cloud_public_cert);
  return pem.ok ? ok({ pem: pem.value, type: type.value }) : pem;
}
