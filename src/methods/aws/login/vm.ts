import type { Ms } from "../../../base/clock.ts";
import { formatDuration } from "../../../base/duration.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { type Mount, mountTtl } from "../../../system/mount.ts";
import type { VmInstance } from "../answers/read-answers.ts";
import { openCloudSecret } from "../cloud-secrets.ts";
import { type IdentityDocument, verifyIdentity, verifyPkcs7 } from "../documents/identity-document.ts";
import { chosenMetadata } from "../rules/alias-and-metadata.ts";
import type { InstanceLogin } from "../rules/reauthentication.ts";
import { tagKeyPurpose } from "../rules/role.ts";
import { cloudRoleTerms, memorySeconds, narrowByTag, type RoleGrant, untagged } from "../rules/role-grant.ts";
import { readTagValue, verifyRoleTag } from "../rules/role-tag.ts";
import { type Begun, type LoginRole, type LoginTarget, type Settings, verifiedClient } from "./login-role.ts";

const NO_DOCUMENT =
  "either pkcs7 or a tuple containing the instance identity document and its SHA256 RSA signature needs to be provided";
const TWO_DOCUMENTS =
  "both pkcs7 and a tuple containing the instance identity document and its SHA256 RSA signature is supplied; provide only one";

/** A document has no expiry and is no secret: it proves which instance it is about, and not who sends it. */
export async function proveDocument(known: Begun<IdentityDocument> & Settings) {
  const { attempt, claim } = known;
  const document = claim ? ok(claim) : await verifyDocument(known);
  if (!document.ok) return { result: document };
  const { instanceId, imageId, accountId } = document.value;
  attempt.notes.principal = instanceId;
  const proven = { name: imageId, accountId };
  const result = ok({ document: document.value, sought: document.value, proven });
  return { actual: instanceId, isAssumed: claim !== null, result };
}

async function verifyDocument({
  attempt: { env },
  settings,
  fields,
}: Begun & Settings): Promise<Result<IdentityDocument>> {
  const { identity = "", signature = "", pkcs7 = "" } = fields;
  const allowSha1 = env.ALLOW_SHA1_SIGNATURES === "true";
  if (pkcs7 === "" && identity === "" && signature === "") return refuse(NO_DOCUMENT);
  if (pkcs7 !== "" && identity !== "" && signature !== "") return refuse(TWO_DOCUMENTS);
  if (pkcs7 !== "") return verifyPkcs7(pkcs7, settings.certificates, { allowSha1 });
  return verifyIdentity(identity, signature, settings.certificates, { allowSha1 });
}

/** The grant of a role to an instance, and the value of its tag; null when the role uses no tags. */
type TaggedGrant = { readonly grant: RoleGrant; readonly tag: string | null };

/** If the role uses tags, an instance without a genuine tag gets no grant. */
export async function grantOf(target: LoginRole, instance: VmInstance): Promise<Result<TaggedGrant>> {
  const { role, roleName, installation, mount } = target;
  if (role.roleTag === "") return ok({ grant: untagged(role), tag: null });
  const value = instance.tags.get(role.roleTag) ?? "";
  if (value === "") return refuse(`missing tag with key "${role.roleTag}" on the instance`);
  const read = readTagValue(value);
  if (!read.ok) return read;
  const key = await openCloudSecret(installation.keys, mount, tagKeyPurpose(role.roleId), role.sealedTagKey);
  const tag = await verifyRoleTag(read.value, key);
  if (!tag.ok) return tag;
  const grant = narrowByTag(role, tag.value, { role: roleName, instanceId: instance.instanceId });
  return grant.ok ? ok({ grant: grant.value, tag: value }) : refuse(grant.error);
}

type GrantedLogin = LoginTarget & { readonly document: IdentityDocument; readonly grant: RoleGrant };

/** The login that the access list decides about. */
export function instanceLogin(
  { target, document, grant, nonce }: GrantedLogin & Pick<InstanceLogin, "nonce">,
  mount: Mount,
  now: Ms,
): InstanceLogin {
  const { pendingTime, pendingTimeMs } = document;
  const { allowMigration, disallowReauthentication, tagMaxTtl } = grant;
  const expiresAt = now + memorySeconds(target.role, tagMaxTtl, mountTtl(mount)) * 1000;
  return {
    role: target.roleName,
    nonce,
    pendingTime,
    pendingTimeMs,
    allowMigration,
    disallowReauthentication,
    expiresAt,
  };
}

/** The client of a login that has passed all checks. */
export function instanceClient({ target, document, grant }: GrantedLogin) {
  const { instanceId, imageId, accountId, region } = document;
  const { role, roleName, identity, boundCidrs } = target;
  const { tagMaxTtl } = grant;
  const known = { instance_id: instanceId, image_id: imageId, account_id: accountId, region, auth_type: "vm" };
  const aliases = { role_id: role.roleId, instance_id: instanceId, image_id: imageId };
  const chosen = chosenMetadata(identity.vmMetadata, known);
  const alias = { name: aliases[identity.vmAlias], metadata: chosen };
  const metadata = { ...chosen, role: roleName, role_tag_max_ttl: formatDuration(tagMaxTtl) };
  const token = { ...cloudRoleTerms(role, grant, boundCidrs), displayName: "", metadata };
  const data = { kind: "vm", role: roleName, instanceId, region, accountId, tagMaxTtl } as const;
  return ok({ client: verifiedClient(target, alias, token, data) });
}
