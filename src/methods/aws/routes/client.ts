import { mountOf } from "../../../auth/mount-of.ts";
import { removeRoute, showRoute } from "../../../auth/record-routes.ts";
import { type Route, simpleRoute, tokenRoute } from "../../../auth/route.ts";
import { DONE_OR_WARNED, dataAnswer } from "../../../auth/route-description.ts";
import type { Failure } from "../../../base/errors.ts";
import { privateHosts } from "../../../base/private-hosts.ts";
import { ok, type Result } from "../../../base/result.ts";
import { NO_FIELDS } from "../../../wire/fields.ts";
import { EMPTY } from "../../../wire/reply.ts";
import {
  CLIENT_FIELDS,
  CLIENT_VIEW,
  type ClientChange,
  type ClientConfig,
  readClientChange,
  SECRET_KEY,
} from "../clients/config.ts";
import { changeConfiguration, cloudAuthOf } from "../mount/mount.ts";
import { rotateRoot } from "../operator/rotate-root.ts";
import { sealSecret } from "../secrets.ts";

/** `config/client` and `config/rotate-root`. */
export const CLIENT_ROUTES: readonly Route[] = [
  showRoute(
    "config/client",
    {
      summary: "Shows how the mount talks to the cloud, without the secret key.",
      operationId: "read-client-configuration",
      view: CLIENT_VIEW,
    },
    (context) => cloudAuthOf(context).readClient(),
  ),

  tokenRoute(
    "update",
    "config/client",
    {
      summary: "Sets how the mount talks to the cloud; fields that are not sent stay as they are.",
      operationId: "configure-client",
      answers: DONE_OR_WARNED,
    },
    CLIENT_FIELDS,
    {
      createsOrUpdates: true,
      async prepare(context): Promise<Result<ClientChange, Failure>> {
        const { env, installation, fields } = context;
        const change = readClientChange(fields, privateHosts(env));
        if (!change.ok || fields.secret_key === undefined) return change;
        const secret = fields.secret_key;
        const sealedSecretKey =
          secret === "" ? null : await sealSecret(installation.keys, mountOf(context), SECRET_KEY, secret);
        return ok({ ...change.value, sealedSecretKey });
      },
      async handle(context) {
        const written = await changeConfiguration<Result<ClientConfig, Failure>>(context, (auth) =>
          auth.writeClient(context.prepared, context.verdict),
        );
        if (!written.ok) return written;
        const lonely = written.value.stsRegion !== "" && written.value.stsEndpoint === "";
        return ok(lonely ? { kind: "empty", warnings: ["sts_region has no effect without sts_endpoint"] } : EMPTY);
      },
    },
  ),

  removeRoute(
    "config/client",
    { summary: "Deletes the configuration of the client.", operationId: "delete-client-configuration" },
    (context) => changeConfiguration(context, (auth) => auth.deleteClient()),
  ),

  simpleRoute(
    "update",
    "config/rotate-root",
    {
      summary: "Replaces the configured access key by a new one that no operator has seen.",
      operationId: "rotate-root-credentials",
      answers: dataAnswer({ access_key: "string" }),
    },
    NO_FIELDS,
    rotateRoot,
  ),
];
