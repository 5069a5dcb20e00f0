import { listRoute, removeRoute, showRoute } from "../../../auth/record-routes.ts";
import { type CallContext, mountOf, type Route, tokenRoute } from "../../../auth/route.ts";
import { DONE_OR_WARNED, dataAnswer } from "../../../auth/route-description.ts";
import { tokenFieldsProblem } from "../../../auth/token-settings.ts";
import { nameKey } from "../../../base/case-folding.ts";
import { attempted, changedOnce } from "../../../base/lost-call-retry.ts";
import { MAX_PARALLEL_CALLS } from "../../../base/parallel.ts";
import { err, inContext, ok, okUnless, type Result, refuse, unavailable } from "../../../base/result.ts";
import { type MountTtl, mountTtl } from "../../../system/mount.ts";
import { fieldSchema, type Values } from "../../../wire/field-schema.ts";
import { duration, flag, list, sent, text, unread } from "../../../wire/fields.ts";
import { namedSegment } from "../../../wire/path-segment.ts";
import { dataReply, type Reply, warnedReply } from "../../../wire/reply.ts";
import { MAX_METHOD_ROLE_NAME } from "../../role-name.ts";
import { parsePrincipalArn } from "../arn.ts";
import type { CloudAccess, CloudClient } from "../clients/client.ts";
import { findPrincipal } from "../clients/principal-and-instance.ts";
import { openCloudSecret, sealCloudSecret } from "../cloud-secrets.ts";
import { changeConfiguration, cloudAuthAt, cloudAuthOf, operatorClient } from "../mount/mount-config.ts";
import {
  CLOUD_ROLE_FIELDS,
  CLOUD_ROLE_VIEW,
  type CloudRole,
  type CloudRoleFields,
  cloudRoleProblem,
  tagKeyPurpose,
  unmatchableWarnings,
} from "../rules/role.ts";
import {
  canonicalPolicies,
  isSubsetOfRole,
  newTagNonce,
  type RoleTag,
  roleTagProblem,
  signRoleTag,
} from "../rules/role-tag.ts";

const PATH = `role/${namedSegment("role")}`;

/** Maximum number of attempts of a write, if others change the role while principals are looked up. */
const MAX_ROUNDS = 3;

const ROLE_TAG_FIELDS = fieldSchema({
  role: unread("string").describe("The name of the role"),
  policies: sent(list()).describe("Some of the role's policies; only `default` if empty, all unless sent"),
  max_ttl: sent(duration()).describe("Maximum lifetime of tokens"),
  instance_id: sent(text()).describe("The only instance that may use the tag"),
  allow_instance_migration: sent(flag(false)).describe("True: the instance may log in again after a migration"),
  disallow_reauthentication: sent(flag(false)).describe("True: an instance may log in only once"),
});

type TagFields = Values<typeof ROLE_TAG_FIELDS>;

/** `role/:role`, the list with its two paths, and the value of a tag, which is not stored. */
export const CLOUD_ROLE_ROUTES: readonly Route[] = [
  tokenRoute("update", `${PATH}/tag`, {
    summary: "Creates a tag that narrows a role for an instance.",
    operationId: "write-role-tag",
    answers: dataAnswer({ tag_key: "string", tag_value: "string" }),
    input: ROLE_TAG_FIELDS,
    prepare: async (context) => readTag(nameOf(context), context.fields),
    handle: createTag,
  }),

  rolesRoute("roles", "list-auth-roles2"),
  rolesRoute("role", "list-auth-roles"),

  showRoute(PATH, {
    summary: "Shows a role.",
    operationId: "read-auth-role",
    view: CLOUD_ROLE_VIEW,
    read: (context) => cloudAuthOf(context).readRole(nameOf(context)),
    warningsOf: unmatchableWarnings,
  }),

  tokenRoute("update", PATH, {
    summary: "Creates or changes a role; fields that are not sent keep their values.",
    operationId: "write-auth-role",
    answers: DONE_OR_WARNED,
    input: CLOUD_ROLE_FIELDS,
    createsOrUpdates: true,
    prepare: async (context) => readWrite(nameOf(context), context.fields),
    handle: writeRole,
  }),

  removeRoute(PATH, {
    summary: "Deletes a role.",
    operationId: "delete-auth-role",
    remove: (context) =>
      changeConfiguration(context, (auth) =>
        attempted(context.env, (attempt) => auth.remove("roles", nameOf(context), attempt)),
      ),
  }),
];

function rolesRoute(path: string, operationId: string): Route {
  return listRoute(path, {
    summary: "Lists the roles.",
    operationId,
    names: (context, after, limit) => cloudAuthOf(context).names("roles", after, limit),
  });
}

function nameOf({ params }: Pick<CallContext, "params">): string {
  return nameKey(params.role ?? "");
}

function readWrite(name: string, fields: Values<typeof CLOUD_ROLE_FIELDS>): Result<CloudRoleFields> {
  const { role: _, bound_iam_principal_id: __, ...sent } = fields;
  const isLong = name.length > MAX_METHOD_ROLE_NAME;
  const tooLong = isLong ? `role name must not be longer than ${MAX_METHOD_ROLE_NAME} characters` : null;
  return okUnless(tooLong ?? cloudRoleProblem(sent) ?? tokenFieldsProblem(sent), sent);
}

async function writeRole(
  context: CallContext<Values<typeof CLOUD_ROLE_FIELDS>, CloudRoleFields>,
): Promise<Result<Reply>> {
  const { env, installation, verdict } = context;
  const mount = mountOf(context);
  const roleId = crypto.randomUUID();
  // The key of the HMAC of the tags of the role, if it is new.
  const tagKey = crypto.randomUUID();
  const sealedTagKey = await sealCloudSecret(installation.keys, mount, tagKeyPurpose(roleId), tagKey);
  let resolved: Readonly<Record<string, string>> = {};
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const write = { sent: context.prepared, mount: mountTtl(mount), fresh: { roleId, sealedTagKey }, resolved };
    const written = await changeConfiguration(context, (auth) =>
      changedOnce(env, (attempt) => auth.writeRole(nameOf(context), write, verdict, attempt)),
    );
    if (!written.ok) return written;
    if (written.value.kind === "changed") return ok(warnedReply(written.value.warnings));
    const answer = await resolvePrincipals({ env, installation, mount }, written.value.arns);
    if (!answer.ok) return answer;
    resolved = answer.value;
  }
  return err(unavailable("the role is being changed by others; try again"));
}

function readTag(name: string, fields: TagFields): Result<RoleTag> {
  if ((fields.max_ttl ?? 0) < 0) {
    return refuse('error converting input for field "max_ttl": cannot provide negative value');
  }
  const tag: RoleTag = {
    nonce: newTagNonce(),
    role: name,
    policies: fields.policies ? canonicalPolicies(fields.policies) : null,
    maxTtlSeconds: fields.max_ttl ?? 0,
    instanceId: fields.instance_id?.toLowerCase() || null,
    allowInstanceMigration: fields.allow_instance_migration ?? false,
    disallowReauthentication: fields.disallow_reauthentication ?? false,
  };
  return okUnless(roleTagProblem(tag), tag);
}

async function createTag(context: CallContext<TagFields, RoleTag>): Promise<Result<Reply>> {
  const { installation, prepared: tag } = context;
  const mount = mountOf(context);
  const role = await cloudAuthOf(context).readRole(tag.role);
  if (!role) return refuse(`entry not found for role ${tag.role}`);
  const problem = problemOf(role, tag);
  if (problem) return refuse(problem);
  const key = await openCloudSecret(installation.keys, mount, tagKeyPurpose(role.roleId), role.sealedTagKey);
  const value = await signRoleTag(tag, key);
  if (!value.ok) return value;
  const warnings = warningsOf(role, tag, mountTtl(mount));
  return dataReply({ tag_key: role.roleTag, tag_value: value.value }, warnings.length > 0 ? warnings : undefined);
}

/** A tag may only narrow the rights of its role. Messages are those of the reference's AWS method (role/:role/tag). */
function problemOf(role: CloudRole, tag: RoleTag): string | null {
  if (role.roleTag === "") return "tag creation is not enabled for this role";
  const isPart = isSubsetOfRole(tag.policies ?? [], role.token.policies);
  return isPart ? null : "policies on the tag must be a subset of the policies set on the role";
}

function warningsOf(role: CloudRole, tag: RoleTag, mount: MountTtl): string[] {
  const warnings: string[] = [];
  if (tag.allowInstanceMigration && !role.allowInstanceMigration) {
    warnings.push("Role does not allow instance migration. The tag does not either unless the role value is updated.");
  }
  const capped = (limit: string) =>
    warnings.push(`Given max TTL of ${tag.maxTtlSeconds} is greater than ${limit}, and will be capped at login time.`);
  if (tag.maxTtlSeconds > mount.maxSeconds) capped(`the mount maximum of ${mount.maxSeconds} seconds`);
  if (role.token.maxTtl > 0 && tag.maxTtlSeconds > role.token.maxTtl) {
    capped(`the role maximum of ${role.token.maxTtl} seconds`);
  }
  return warnings;
}

/** Asks the cloud for the unique ids of principals. Returns the ids by ARN; or which item failed and why. */
async function resolvePrincipals(access: CloudAccess, arns: readonly string[]) {
  const client = await operatorClient(access);
  const ids: Record<string, string> = {};
  for (let from = 0; from < arns.length; from += MAX_PARALLEL_CALLS) {
    const part = arns.slice(from, from + MAX_PARALLEL_CALLS);
    const answers = await Promise.all(part.map((arn) => resolve(client, arn)));
    for (const [index, answer] of answers.entries()) {
      const what = `unable to resolve ARN ${from + index + 1} of bound_iam_principal_arn to internal ID`;
      if (!answer.ok) return err(inContext(what, answer.error));
      ids[part[index] ?? ""] = answer.value;
    }
  }
  return ok(ids);
}

async function resolve(client: CloudClient, arn: string): Promise<Result<string>> {
  const principal = parsePrincipalArn(arn);
  if (!principal.ok) return refuse(principal.error);
  const { type, accountId } = principal.value;
  if (type !== "user" && type !== "role") return refuse("only users and roles have a unique ID");
  const stsRole = await cloudAuthAt(client.env, client.mount).readStsRole(accountId);
  const found = await findPrincipal({ ...client, accountId, stsRole }, principal.value);
  return found.ok ? ok(found.value.uniqueId) : found;
}
