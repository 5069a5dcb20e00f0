import { type Failure, invalid } from "../../errors.ts";
import { dataReply, type Reply } from "../../http/reply.ts";
import type { CallContext } from "../../http/route.ts";
import { err, ok, type Result } from "../../result.ts";
import { type CloudAccess, cloudApi } from "../cloud-api.ts";
import { cloudAuthOf, mountOf } from "../mount.ts";
import { sealSecret } from "../secrets.ts";
import { type ClientConfig, SECRET_KEY } from "./client.ts";

const OLD_KEY_STAYS =
  "The new access key is configured, but the old one could not be deleted. Delete it by hand: it is still good.";

/**
 * Replaces the configured access key by a new one that nobody has seen: makes it, stores it, and only then deletes the old
 * one, so that at every moment one of the two that are good is configured.
 */
export async function rotateRoot(context: CallContext<unknown, unknown>): Promise<Result<Reply, Failure>> {
  const { env, installation } = context;
  const auth = cloudAuthOf(context);
  const client = await auth.readClient();
  const problem = problemOf(client);
  if (!client || problem) return err(invalid(problem ?? ""));
  const access: CloudAccess = { env, keys: installation.keys, mount: mountOf(context) };

  const created = await cloudApi.createAccessKey(access);
  if (!created.ok) return created;
  const { userName, key } = created.value;
  const sealedSecretKey = await sealSecret(access.keys, access.mount, SECRET_KEY, key.secretAccessKey);
  const replaced = await auth.replaceAccessKey(client.accessKey, { accessKey: key.accessKeyId, sealedSecretKey });
  if (!replaced) {
    await cloudApi.deleteAccessKey(access, userName, key.accessKeyId);
    return err(invalid("the client config was changed at the same time; the access key was not rotated"));
  }
  const deleted = await cloudApi.deleteAccessKey(access, userName, client.accessKey);
  return ok(dataReply({ access_key: key.accessKeyId }, deleted.ok ? undefined : [OLD_KEY_STAYS]));
}

function problemOf(client: ClientConfig | null): string | null {
  if (!client) return "can't update client config because it's unset";
  if (client.accessKey === "") return "can't update access_key because it's unset";
  return client.sealedSecretKey === null ? "can't update secret_key because it's unset" : null;
}
