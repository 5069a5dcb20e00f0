import { listRoute, removeRoute, showRoute } from "../../../auth/record-routes.ts";
import { type Route, tokenRoute } from "../../../auth/route.ts";
import { NO_CONTENT } from "../../../auth/route-description.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { fieldSchema, sent, text, unread, type Values } from "../../../wire/fields.ts";
import { namedSegment } from "../../../wire/path-name.ts";
import { EMPTY } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";
import { parseCertificateType, parseRegisteredPem, type RegisteredCertificate } from "../documents/registered.ts";
import { changeConfiguration, cloudAuthOf } from "../mount/mount.ts";

const PATH = `config/certificate/${namedSegment("cert_name")}`;
const FIELDS = fieldSchema({
  cert_name: unread("string").describe("The name of the certificate"),
  cloud_public_cert: sent(text()).describe("The certificate in PEM, or in base64 of it"),
  type: sent(text()).describe("`pkcs7` or `identity`: what it verifies"),
});

const CERTIFICATE_VIEW = view<RegisteredCertificate>({
  cloud_public_cert: ["string", (certificate) => certificate.pem],
  type: ["string", (certificate) => certificate.type],
});

/** `config/certificate/:cert_name` and `config/certificates`. The published certificates are not among them. */
export const CERTIFICATE_ROUTES: readonly Route[] = [
  listRoute(
    "config/certificates",
    { summary: "Lists the registered certificates.", operationId: "list-certificate-configurations" },
    (context, after, limit) => cloudAuthOf(context).names("certificates", after, limit),
  ),

  showRoute(
    PATH,
    {
      summary: "Shows a certificate that verifies documents of instances.",
      operationId: "read-certificate-configuration",
      view: CERTIFICATE_VIEW,
    },
    (context) => cloudAuthOf(context).readCertificate(context.params.cert_name ?? ""),
  ),

  tokenRoute(
    "update",
    PATH,
    {
      summary: "Registers a certificate that verifies documents of instances.",
      operationId: "configure-certificate",
      answers: NO_CONTENT,
    },
    FIELDS,
    {
      createsOrUpdates: true,
      prepare: async ({ fields }) => readCertificateFields(fields),
      async handle(context) {
        const { params, prepared, verdict } = context;
        const written = await changeConfiguration<Result<null, Failure>>(context, (auth) =>
          auth.writeCertificate(params.cert_name ?? "", prepared.pem, prepared.type, verdict),
        );
        return written.ok ? ok(EMPTY) : written;
      },
    },
  ),

  removeRoute(PATH, { summary: "Deletes a certificate.", operationId: "delete-certificate-configuration" }, (context) =>
    changeConfiguration(context, (auth) => auth.remove("certificates", context.params.cert_name ?? "")),
  ),
];

interface CertificateWrite {
  readonly pem: string;
  /** null keeps the type of the certificate that is replaced. */
  readonly type: RegisteredCertificate["type"] | null;
}

/** A certificate that does not parse is refused here: stored, it would be tried at every login. */
function readCertificateFields(fields: Values<typeof FIELDS>): Result<CertificateWrite, Failure> {
  const type = fields.type === undefined ? ok(null) : parseCertificateType(fields.type);
  if (!type.ok) return type;
  if (fields.cloud_public_cert === undefined) return err(invalid("missing cloud_public_cert"));
  const pem = parseRegisteredPem(fields.cloud_public_cert);
  return pem.ok ? ok({ pem: pem.value, type: type.value }) : pem;
}
