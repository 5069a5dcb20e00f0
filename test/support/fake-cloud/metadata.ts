import type { FakeCloud } from "./fake-cloud.ts";
import type { CloudRequest } from "./request.ts";

const TOKEN = "metadata-token";
const ROLES = "/latest/meta-data/iam/security-credentials/";

/** The metadata service of the machine that the server runs on, version 2: the role `Machine`, if the cloud has one. */
export function metadataAnswer(
  { world, metadataPages }: FakeCloud,
  { method, target, headers }: CloudRequest,
): string | null {
  if (method === "PUT") return target === "/latest/api/token" ? TOKEN : null;
  if (headers["x-aws-ec2-metadata-token"] !== TOKEN) return null;
  const page = metadataPages.get(target);
  if (page !== undefined) return page;
  const role = world.roles.find(({ name }) => name === "Machine");
  if (!role) return null;
  if (target === ROLES) return role.name;
  if (target !== ROLES + role.name) return null;
  const expiresAt = Date.now() + 3_600_000;
  const session = world.addSession(role, "i-0aaaaaaaaaaaaaaaa", expiresAt);
  return JSON.stringify({
    Code: "Success",
    AccessKeyId: session.id,
    SecretAccessKey: session.secret,
    Token: session.token,
    Expiration: new Date(expiresAt).toISOString().replace(/\.\d+Z$/, "Z"),
  });
}
