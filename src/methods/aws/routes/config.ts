import { listRoute, removeRoute, showRoute } from "../../../auth/record-routes.ts";
import { mountOf, type Route, simpleRoute, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer, NO_CONTENT } from "../../../auth/route-description.ts";
import { attempted, changedOnce } from "../../../base/lost-call-retry.ts";
import { privateHosts } from "../../../base/outbound-hosts.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { fieldSchema, type Values } from "../../../wire/field-schema.ts";
import { sent, text, unread } from "../../../wire/fields.ts";
import { namedSegment } from "../../../wire/path-segment.ts";
import { doneReply, EMPTY } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";
import {
  CLIENT_FIELDS,
  CLIENT_VIEW,
  type ClientChange,
  readClientChange,
  readStsRole,
  SECRET_KEY,
  type StsRole,
  stsRoleWarnings,
} from "../clients/client-config.ts";
import { sealCloudSecret } from "../cloud-secrets.ts";
import { parseCertificateType, parseRegisteredPem, type RegisteredCertificate } from "../documents/certificate.ts";
import { changeConfiguration, cloudAuthOf } from "../mount/mount-config.ts";
import { IDENTITY_FIELDS, IDENTITY_VIEW, readIdentityChange } from "../rules/alias-and-metadata.ts";
import { rotateRoot } from "./rotate-root.ts";

const CERTIFICATE_PATH = `config/certificate/${namedSegment("cert_name")}`;
const CERTIFICATE_FIELDS = fieldSchema({
  cert_name: unread("string").describe("The name of the certificate"),
  cloud_public_cert: sent(text()).describe("The certificate in PEM, or base64 of it"),
  type: sent(text()).describe("`pkcs7` or `identity`: what it verifies"),
});

const CERTIFICATE_VIEW = view<RegisteredCertificate>({
  cloud_public_cert: ["string", (certificate) => certificate.pem],
  type: ["string", (certificate) => certificate.type],
});

const STS_PATH = `config/sts/${namedSegment("account_id")}`;
const STS_FIELDS = fieldSchema({
  account_id: unread("string").describe("The id of the account"),
  sts_role: sent(text()).describe("The ARN of the role"),
  external_id: sent(text()).describe("The external ID in the role's trust policy; empty for none"),
});

const STS_ROLE_VIEW = view<StsRole>({
  sts_role: ["string", (role) => role.arn],
  "external_id?": ["string", (role) => role.externalId || undefined],
});

export const CONFIG_ROUTES: readonly Route[] = [
  showRoute("config/client", {
    summary: "Shows how the mount calls the cloud, without the secret key.",
    operationId: "read-client-configuration",
    view: CLIENT_VIEW,
    read: (context) => cloudAuthOf(context).readClient(),
    warningsOf: ({ stsRegion, stsEndpoint }) =>
      stsRegion !== "" && stsEndpoint === "" ? ["sts_region has no effect without sts_endpoint"] : [],
  }),

  tokenRoute("update", "config/client", {
    summary: "Sets how the mount calls the cloud; fields that are not sent keep their values.",
    operationId: "configure-client",
    answers: NO_CONTENT,
    input: CLIENT_FIELDS,
    createsOrUpdates: true,
    async prepare(context): Promise<Result<ClientChange>> {
      const { env, installation, fields } = context;
      const change = readClientChange(fields, privateHosts(env));
      if (!change.ok || fields.secret_key === undefined) return change;
      const secret = fields.secret_key;
      const sealedSecretKey =
        secret === "" ? null : await sealCloudSecret(installation.keys, mountOf(context), SECRET_KEY, secret);
      return ok({ ...change.value, sealedSecretKey });
    },
    async handle(context) {
      return doneReply(
        await changeConfiguration(context, (auth) =>
          changedOnce(context.env, (attempt) => auth.writeClient(context.prepared, context.verdict, attempt)),
        ),
      );
    },
  }),

  removeRoute("config/client", {
    summary: "Deletes the configuration of the client.",
    operationId: "delete-client-configuration",
    remove: (context) =>
      changeConfiguration(context, (auth) => attempted(context.env, (attempt) => auth.deleteClient(attempt))),
  }),

  simpleRoute("update", "config/rotate-root", {
    summary: "Replaces the access key by one that no operator has seen.",
    operationId: "rotate-root-credentials",
    answers: dataAnswer({ access_key: "string" }),
    handle: rotateRoot,
  }),

  // Reads return the default of a setting that was not written.
  showRoute("config/identity", {
    summary: "Shows which properties of a login are its alias and its metadata.",
    operationId: "read-identity-integration-configuration",
    view: IDENTITY_VIEW,
    read: (context) => cloudAuthOf(context).readIdentity(),
  }),

  tokenRoute("update", "config/identity", {
    summary: "Sets which properties of a login are its alias and its metadata.",
    operationId: "configure-identity-integration",
    answers: NO_CONTENT,
    input: IDENTITY_FIELDS,
    prepare: async ({ fields }) => readIdentityChange(fields),
    async handle(context) {
      const { env, prepared } = context;
      await changeConfiguration(context, (auth) => attempted(env, (attempt) => auth.writeIdentity(prepared, attempt)));
      return ok(EMPTY);
    },
  }),

  listRoute("config/certificates", {
    summary: "Lists the registered certificates.",
    operationId: "list-certificate-configurations",
    names: (context, after, limit) => cloudAuthOf(context).names("certificates", after, limit),
  }),

  showRoute(CERTIFICATE_PATH, {
    summary: "Shows a certificate that verifies documents of instances.",
    operationId: "read-certificate-configuration",
    view: CERTIFICATE_VIEW,
    read: (context) => cloudAuthOf(context).readCertificate(context.params.cert_name ?? ""),
  }),

  tokenRoute("update", CERTIFICATE_PATH, {
    summary: "Registers a certificate that verifies documents of instances.",
    operationId: "configure-certificate",
    answers: NO_CONTENT,
    input: CERTIFICATE_FIELDS,
    createsOrUpdates: true,
    prepare: async ({ fields }) => readCertificateFields(fields),
    async handle(context) {
      const { env, params, prepared, verdict } = context;
      const name = params.cert_name ?? "";
      const written = await changeConfiguration(context, (auth) =>
        changedOnce(env, (attempt) => auth.writeCertificate(name, prepared.pem, prepared.type, verdict, attempt)),
      );
      return doneReply(written);
    },
  }),

  removeRoute(CERTIFICATE_PATH, {
    summary: "Deletes a certificate.",
    operationId: "delete-certificate-configuration",
    remove: (context) =>
      changeConfiguration(context, (auth) =>
        attempted(context.env, (attempt) => auth.remove("certificates", context.params.cert_name ?? "", attempt)),
      ),
  }),

  listRoute("config/sts", {
    summary: "Lists the accounts with a role to assume.",
    operationId: "list-sts-role-relationships",
    names: (context, after, limit) => cloudAuthOf(context).names("stsRoles", after, limit),
  }),

  showRoute(STS_PATH, {
    summary: "Shows the role that is assumed for the instances of an account.",
    operationId: "read-sts-role",
    view: STS_ROLE_VIEW,
    read: (context) => cloudAuthOf(context).readStsRole(context.params.account_id ?? ""),
    warningsOf: ({ arn }, { params }) => stsRoleWarnings(params.account_id ?? "", arn),
  }),

  tokenRoute("update", STS_PATH, {
    summary: "Sets the role that is assumed for the instances of an account.",
    operationId: "configure-sts-role",
    answers: NO_CONTENT,
    input: STS_FIELDS,
    createsOrUpdates: true,
    prepare: async ({ fields }) => readStsRole({ arn: fields.sts_role, externalId: fields.external_id }),
    async handle(context) {
      const { env, params, prepared, verdict } = context;
      const accountId = params.account_id ?? "";
      const written = await changeConfiguration(context, (auth) =>
        changedOnce(env, (attempt) => auth.writeStsRole(accountId, prepared, verdict, attempt)),
      );
      return doneReply(written);
    },
  }),

  removeRoute(STS_PATH, {
    summary: "Deletes the role that is assumed for the instances of an account.",
    operationId: "delete-sts-role",
    remove: (context) =>
      changeConfiguration(context, (auth) =>
        attempted(context.env, (attempt) => auth.remove("stsRoles", context.params.account_id ?? "", attempt)),
      ),
  }),
];

/** Reads a certificate. `type` null: not sent, so the type of the replaced certificate stays. */
function readCertificateFields({ type: sentType, cloud_public_cert: cert }: Values<typeof CERTIFICATE_FIELDS>) {
  const type = sentType === undefined ? ok(null) : parseCertificateType(sentType);
  if (!type.ok) return type;
  if (cert === undefined) return refuse("missing cloud_public_cert");
  const pem = parseRegisteredPem(cert);
  return pem.ok ? ok({ pem: pem.value, type: type.value }) : pem;
}
