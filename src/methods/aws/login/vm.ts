import { type IssuedLogin, issueToken, type VerifiedClient } from "../../../auth/login-attempt.ts";
import { currentTime } from "../../../base/clock.ts";
import { formatDuration } from "../../../base/duration.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { mountTtl } from "../../../system/mount.ts";
import type { VmInstance } from "../answers/ec2.ts";
import type { IdentityDocument } from "../documents/identity-document.ts";
import type { RegisteredCertificate } from "../documents/trusted.ts";
import { verifyIdentity, verifyPkcs7 } from "../documents/verify.ts";
import type { EnteredLogin } from "../mount/access-list.ts";
import { accessShardFor, cloudAuthAt } from "../mount/mount.ts";
import { type InstanceLogin, prepareNonce } from "../rules/access.ts";
import { chosenMetadata } from "../rules/identity.ts";
import { tagKeyPurpose } from "../rules/role.ts";
import { readTagValue, verifyRoleTag } from "../rules/role-tag.ts";
import { memorySeconds, narrowByTag, type RoleGrant, roleTerms, untagged } from "../rules/terms.ts";
import { openSecret } from "../secrets.ts";
import { type Attempt, clientOf, findTarget, type LoginFields, type LoginTarget, startLogin } from "./attempt.ts";
import { checkInstance } from "./instance.ts";
import { writeTokenData } from "./token-data.ts";

/** An instance that passed every check but that of the access list. */
export interface VerifiedInstance {
  readonly document: IdentityDocument;
  /** What the access list decides about. */
  readonly entry: InstanceLogin;
  /** The new nonce for the client, if any. */
  readonly generatedNonce: string | null;
  readonly client: VerifiedClient;
}

/**
 * A login by the signed identity document of an instance. Documents don't end and are no secret, so the cloud is asked
 * whether the instance still runs, and the access list whether the client may show the document again.
 *
 * Nothing is written before everything else is verified. The entry in the access list comes before the token: when the
 * answer is lost in between, the client repeats the login with its nonce, whereas a token without an entry would leave
 * the instance open to another's first login.
 */
export async function loginByInstance(attempt: Attempt, fields: LoginFields): Promise<Result<IssuedLogin>> {
  const verified = await verifyInstance(attempt, fields, null);
  if (!verified.ok) return verified;
  const { document, entry, generatedNonce, client } = verified.value;
  const { instanceId } = document;
  const { list, place } = accessShardFor(attempt.env, attempt.mount, instanceId);
  const decided = await list.enterLogin(place, instanceId, entry, currentTime());
  const entered = attempt.checks.record<EnteredLogin>("access_list", {}, decided);
  if (!entered.ok) return entered;
  const issued = await issueOrUndo(attempt, instanceId, entered.value, () => issueToken(attempt, client));
  const mayReturn = entered.value.entry.nonceHash !== null;
  return issued.ok && mayReturn ? ok(withNonce(issued.value, generatedNonce)) : issued;
}

/**
 * Makes all checks of a login that need no entry in the access list. Writes nothing.
 * Messages are those of the reference's AWS method (login).
 *
 * @param claim a document that is taken as true; null where the fields prove one.
 */
export async function verifyInstance(
  attempt: Attempt,
  fields: LoginFields,
  claim: IdentityDocument | null,
): Promise<Result<VerifiedInstance>> {
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
  const tagged = checks.record("role_tag", tags, await readTag(attempt, target, instance));
  if (!tagged.ok) return tagged;
  const { grant, tag } = tagged.value;
  const denied = tag !== null && (await cloudAuthAt(env, mount).isDenied(tag));
  const admitted = denied ? refuse("role tag is deny listed") : ok(null);
  const undenied = checks.record("deny_list", { actual: tag }, admitted);
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
  const client = clientOf(mount, holderOf(target, document.value, grant));
  return ok({ document: document.value, entry, generatedNonce: nonce.value.generated, client });
}

/** The document of a login, whose signature the fields have as well. */
async function proveDocument(
  { env, checks }: Attempt,
  registered: readonly RegisteredCertificate[],
  fields: LoginFields,
): Promise<Result<IdentityDocument>> {
  const document = await verifyDocument(registered, env.ALLOW_SHA1_SIGNATURES === "true", fields);
  return checks.record("document", { actual: document.ok ? document.value.instanceId : null }, document);
}

async function verifyDocument(
  registered: readonly RegisteredCertificate[],
  allowSha1: boolean,
  fields: LoginFields,
): Promise<Result<IdentityDocument>> {
  const { identity = "", signature = "", pkcs7 = "" } = fields;
  if (pkcs7 === "" && identity === "" && signature === "") {
    return refuse(
      "either pkcs7 or a tuple containing the instance identity document and its SHA256 RSA signature needs to be provided",
    );
  }
  if (pkcs7 !== "" && identity !== "" && signature !== "") {
    return refuse(
      "both pkcs7 and a tuple containing the instance identity document and its SHA256 RSA signature is supplied; provide only one",
    );
  }
  return pkcs7 === ""
    ? verifyIdentity(identity, signature, registered, { allowSha1 })
    : verifyPkcs7(pkcs7, registered, { allowSha1 });
}

interface TaggedGrant {
  readonly grant: RoleGrant;
  /** The value of the tag; null when the role has no tags. */
  readonly tag: string | null;
}

/** What the role gives to this instance. Where the role has a tag, an instance without a genuine one gets nothing. */
async function readTag(
  attempt: Attempt,
  { role, roleName }: LoginTarget,
  instance: VmInstance,
): Promise<Result<TaggedGrant>> {
  if (role.roleTag === "") return ok({ grant: untagged(role), tag: null });
  const value = instance.tags.get(role.roleTag) ?? "";
  if (value === "") return refuse(`missing tag with key "${role.roleTag}" on the instance`);
  const read = readTagValue(value);
  if (!read.ok) return read;
  const key = await openSecret(attempt.installation.keys, attempt.mount, tagKeyPurpose(role.roleId), role.sealedTagKey);
  const tag = await verifyRoleTag(read.value, key);
  if (!tag.ok) return tag;
  const grant = narrowByTag(role, tag.value, { role: roleName, instanceId: instance.instanceId });
  return grant.ok ? ok({ grant: grant.value, tag: value }) : refuse(grant.error);
}

function holderOf(
  { role, roleName, identity, boundCidrs }: LoginTarget,
  { instanceId, imageId, accountId, region }: IdentityDocument,
  grant: RoleGrant,
) {
  const chosen = chosenMetadata(identity.vmMetadata, {
    instance_id: instanceId,
    image_id: imageId,
    account_id: accountId,
    region,
    auth_type: "vm",
  });
  const { tagMaxTtl } = grant;
  const aliases = { role_id: role.roleId, instance_id: instanceId, image_id: imageId };
  return {
    terms: roleTerms(role, grant, boundCidrs),
    alias: aliases[identity.vmAlias],
    metadata: { ...chosen, role: roleName, role_tag_max_ttl: formatDuration(tagMaxTtl) },
    aliasMetadata: chosen,
    displayName: "",
    internal: writeTokenData({ kind: "vm", role: roleName, instanceId, region, accountId, tagMaxTtl }),
  };
}

/** Removes the entry when no token was made: the client would need a nonce that it never received. */
async function issueOrUndo(
  { env, mount }: Attempt,
  instanceId: string,
  entered: EnteredLogin,
  issue: () => Promise<Result<IssuedLogin>>,
): Promise<Result<IssuedLogin>> {
  let done = false;
  try {
    const issued = await issue();
    done = issued.ok;
    return issued;
  } finally {
    if (!done) await accessShardFor(env, mount, instanceId).list.undoLogin(instanceId, entered);
  }
}

/** Adds a new nonce to the metadata of the answer. It is not stored with the token, which others may look up. */
function withNonce(issued: IssuedLogin, nonce: string | null): IssuedLogin {
  if (nonce === null) return issued;
  return { ...issued, auth: { ...issued.auth, secretMetadata: { nonce } } };
}
