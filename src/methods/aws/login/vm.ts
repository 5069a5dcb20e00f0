import { type IssuedLogin, issueToken } from "../../../auth/login-attempt.ts";
import { currentTime } from "../../../base/clock.ts";
import { formatDuration } from "../../../base/duration.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { mountTtl } from "../../../system/mount.ts";
import type { VmInstance } from "../answers/answers.ts";
import type { RegisteredCertificate } from "../documents/certificate.ts";
import { type IdentityDocument, verifyIdentity, verifyPkcs7 } from "../documents/verify.ts";
import type { EnteredLogin } from "../mount/access-list.ts";
import { accessShardFor, cloudAuthAt } from "../mount/mount.ts";
import {
  cloudRoleTerms,
  type InstanceLogin,
  memorySeconds,
  narrowByTag,
  prepareNonce,
  type RoleGrant,
  untagged,
} from "../rules/access.ts";
import { chosenMetadata } from "../rules/identity.ts";
import { tagKeyPurpose } from "../rules/role.ts";
import { readTagValue, verifyRoleTag } from "../rules/role-tag.ts";
import { openSecret } from "../secrets.ts";
import {
  type AllowedLoginRole,
  type Attempt,
  findTarget,
  type LoginFields,
  startLogin,
  verifiedClient,
} from "./attempt.ts";
import { checkInstance } from "./bounds.ts";

/**
 * A login by the signed identity document of an instance. A document has no expiry and is no secret. Therefore the
 * cloud is asked whether the instance still runs, and the access list decides whether the client may log in again.
 * Nothing is written before all other checks. The entry in the access list is written before the token is issued. If
 * the answer is lost, the client repeats the login with its nonce; after a token without an entry, another client
 * could make the first login of the instance.
 */
export async function loginByInstance(attempt: Attempt, fields: LoginFields): Promise<Result<IssuedLogin>> {
  const verified = await verifyInstance(attempt, fields, null);
  if (!verified.ok) return verified;
  const { document, entry, generatedNonce, client } = verified.value;
  const { list, place } = accessShardFor(attempt.env, attempt.mount, document.instanceId);
  const decided = await list.enterLogin(place, document.instanceId, entry, currentTime());
  const entered = attempt.checks.record<EnteredLogin>("access_list", {}, decided);
  if (!entered.ok) return entered;
  let issued: Result<IssuedLogin> | null = null;
  try {
    issued = await issueToken(attempt, client);
  } finally {
    // Without a token the client does not receive the nonce that its next login would need.
    if (!issued?.ok) await list.undoLogin(document.instanceId, entered.value);
  }
  if (!issued.ok || generatedNonce === null || entered.value.entry.nonceHash === null) return issued;
  // The nonce is only in the answer, and not in the stored metadata of the token, which others may look up.
  const auth = { ...issued.value.auth, secretMetadata: { nonce: generatedNonce } };
  return ok({ ...issued.value, auth });
}

/**
 * Makes all checks of such a login except that of the access list. Writes nothing. `claim` is a document without proof,
 * for an explanation; else null. Messages are those of the reference's AWS method (login).
 */
export async function verifyInstance(attempt: Attempt, fields: LoginFields, claim: IdentityDocument | null) {
  const { env, installation, mount, checks } = attempt;
  const start = await startLogin(attempt, "vm", fields.role);
  if (!start.ok) return start;
  const { certificates } = start.value.settings;
  const document = claim
    ? checks.assume("document", claim.instanceId, claim)
    : await proveDocument(attempt, certificates, fields);
  if (!document.ok) return document;
  const { accountId, instanceId, imageId, region, pendingTime, pendingTimeMs } = document.value;
  attempt.notes.principal = instanceId;
  const found = await findTarget(attempt, "vm", start.value, imageId, accountId);
  if (!found.ok) return found;
  const target = found.value;
  const nonce = checks.record("nonce", {}, await prepareNonce(installation.keys, mount, instanceId, fields.nonce));
  if (!nonce.ok) return nonce;
  const checked = await checkInstance(target, region, instanceId, false, checks);
  if (!checked.ok) return checked;
  const { instance } = checked.value;
  const tagName = target.role.roleTag;
  const tags = { bound: tagName === "" ? [] : [tagName], actual: instance.tags.get(tagName) ?? null };
  const tagged = checks.record("role_tag", tags, await readTag(target, instance));
  if (!tagged.ok) return tagged;
  const { grant, tag } = tagged.value;
  const denied = tag !== null && (await cloudAuthAt(env, mount).isDenied(tag));
  const undenied = checks.record("deny_list", { actual: tag }, denied ? refuse("role tag is deny listed") : ok(null));
  if (!undenied.ok) return undenied;
  const entry: InstanceLogin = {
    role: target.roleName,
    nonce: nonce.value.nonce,
    pendingTime,
    pendingTimeMs,
    allowMigration: grant.allowMigration,
    disallowReauthentication: grant.disallowReauthentication,
    expiresAt: currentTime() + memorySeconds(target.role, grant.tagMaxTtl, mountTtl(mount)) * 1000,
  };
  const client = clientOf(target, document.value, grant);
  return ok({ document: document.value, entry, generatedNonce: nonce.value.generated, client });
}

const NO_DOCUMENT =
  "either pkcs7 or a tuple containing the instance identity document and its SHA256 RSA signature needs to be provided";
const TWO_DOCUMENTS =
  "both pkcs7 and a tuple containing the instance identity document and its SHA256 RSA signature is supplied; provide only one";

async function proveDocument(
  { env, checks }: Attempt,
  registered: readonly RegisteredCertificate[],
  { identity = "", signature = "", pkcs7 = "" }: LoginFields,
): Promise<Result<IdentityDocument>> {
  const allowSha1 = env.ALLOW_SHA1_SIGNATURES === "true";
  let document: Result<IdentityDocument>;
  if (pkcs7 === "" && identity === "" && signature === "") {
    document = refuse(NO_DOCUMENT);
  } else if (pkcs7 !== "" && identity !== "" && signature !== "") {
    document = refuse(TWO_DOCUMENTS);
  } else if (pkcs7 !== "") {
    document = await verifyPkcs7(pkcs7, registered, { allowSha1 });
  } else {
    document = await verifyIdentity(identity, signature, registered, { allowSha1 });
  }
  return checks.record("document", { actual: document.ok ? document.value.instanceId : null }, document);
}

/** The grant of a role to an instance, and the value of its tag; null when the role uses no tags. */
type TaggedGrant = { readonly grant: RoleGrant; readonly tag: string | null };

/** If the role uses tags, an instance without a genuine tag gets no grant. */
async function readTag(target: AllowedLoginRole, instance: VmInstance): Promise<Result<TaggedGrant>> {
  const { role, roleName, installation, mount } = target;
  if (role.roleTag === "") return ok({ grant: untagged(role), tag: null });
  const value = instance.tags.get(role.roleTag) ?? "";
  if (value === "") return refuse(`missing tag with key "${role.roleTag}" on the instance`);
  const read = readTagValue(value);
  if (!read.ok) return read;
  const key = await openSecret(installation.keys, mount, tagKeyPurpose(role.roleId), role.sealedTagKey);
  const tag = await verifyRoleTag(read.value, key);
  if (!tag.ok) return tag;
  const grant = narrowByTag(role, tag.value, { role: roleName, instanceId: instance.instanceId });
  return grant.ok ? ok({ grant: grant.value, tag: value }) : refuse(grant.error);
}

function clientOf(
  target: AllowedLoginRole,
  { instanceId, imageId, accountId, region }: IdentityDocument,
  grant: RoleGrant,
) {
  const { role, roleName, identity, boundCidrs } = target;
  const { tagMaxTtl } = grant;
  const known = { instance_id: instanceId, image_id: imageId, account_id: accountId, region, auth_type: "vm" };
  const aliases = { role_id: role.roleId, instance_id: instanceId, image_id: imageId };
  const chosen = chosenMetadata(identity.vmMetadata, known);
  const alias = { name: aliases[identity.vmAlias], metadata: chosen };
  const metadata = { ...chosen, role: roleName, role_tag_max_ttl: formatDuration(tagMaxTtl) };
  const token = { ...cloudRoleTerms(role, grant, boundCidrs), displayName: "", metadata };
  return verifiedClient(target, alias, token, { kind: "vm", role: roleName, instanceId, region, accountId, tagMaxTtl });
}
