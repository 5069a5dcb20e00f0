import { bindAddress } from "../../../auth/token-settings.ts";
import { currentTime } from "../../../base/clock.ts";
import { changedOnce } from "../../../base/lost-call-retry.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import type { IdentityDocument } from "../documents/identity-document.ts";
import type { EnteredLogin } from "../mount/access-list.ts";
import { accessShardFor, cloudAuthAt } from "../mount/mount-config.ts";
import { prepareNonce } from "../rules/reauthentication.ts";
import { type AuthType, type CloudRole, infersInstance } from "../rules/role.ts";
import { CheckList, type CheckName, type Checks } from "./check-list.ts";
import { judgeCaller, type ProvenCaller, principalClient, proveCaller } from "./iam.ts";
import { bound, findInstance, judgeProfileRole, type OfInstance } from "./instance-bounds.ts";
import {
  type Begun,
  findNamedRole,
  findProvenRole,
  findSettings,
  type LoginTarget,
  notFound,
  openTarget,
  type Proven,
  type Settings,
} from "./login-role.ts";
import { grantOf, instanceClient, instanceLogin, proveDocument } from "./vm.ts";

const ROLE = CheckList.of<Begun & { readonly roleName: string; readonly found: CloudRole | null }>()
  .check("role", ({ attempt, roleName, found }) => {
    if (found) attempt.notes.roleExists = true;
    return { actual: roleName, result: found ? ok({ role: found }) : err(notFound(roleName)) };
  })
  .check("address", ({ attempt: { clientAddress }, role: { token } }) => {
    const networks = bindAddress(token, clientAddress);
    const result = networks.ok ? ok({ boundCidrs: networks.value }) : networks;
    return { bound: token.boundCidrs, actual: clientAddress, result };
  })
  .check("auth_type", ({ kind, roleName, role: { authType } }) => {
    const other = refuse(`auth method ${kind} not allowed for role ${roleName}`);
    return { bound: [authType], actual: kind, result: authType === kind ? ok({}) : other };
  });

const INSTANCE = CheckList.of<OfInstance>()
  .check("instance", async ({ target, sought }) => {
    return { actual: sought.instanceId, result: await findInstance(target, sought) };
  })
  .with(bound("bound_region", ({ sought }) => sought.region))
  .with(bound("bound_vm_instance_id", ({ instance }) => instance.instanceId))
  .with(bound("bound_account_id", ({ instance }) => instance.accountId))
  .with(bound("bound_image_id", ({ instance }) => instance.imageId))
  .with(bound("bound_subnet_id", ({ instance }) => instance.subnetId))
  .with(bound("bound_vpc_id", ({ instance }) => instance.vpcId))
  .with(bound("bound_iam_instance_profile_arn", ({ instance }) => instance.instanceProfileArn))
  .check("bound_iam_role_arn", ({ target, instance }) => judgeProfileRole(target, instance));

/** Only for a role that infers the instance of a principal. */
const INFERENCE = CheckList.of<Begun & LoginTarget & { readonly caller: ProvenCaller }>()
  .check("inferred_session", ({ target, caller: { principal } }) => {
    const { sessionName } = principal;
    const noSession = refuse("only an assumed role can be inferred to be an instance");
    const sought = { region: target.role.inferredRegion, instanceId: sessionName ?? "" };
    return { actual: sessionName, result: sessionName === null ? noSession : ok({ sought }) };
  })
  .with(INSTANCE)
  // The client that assumes a role chooses the name of the session, so the name alone proves nothing. The instance must
  // have the caller's role in its profile: sessions of instances come from there.
  .check("inferred_role", ({ sought, profileRole, caller }) => {
    const bound = profileRole ? [profileRole.arn.arn] : [];
    const other = refuse("the session is named like an instance whose role is another one");
    const result = profileRole?.uniqueId === caller.uniqueId ? ok({ inferredId: sought.instanceId }) : other;
    return { bound, actual: caller.principal.canonicalArn, result };
  });

/** A login by the signed identity document of an instance. */
export const VM_ORDER = order(
  CheckList.of<Begun<IdentityDocument> & Settings>().check("document", proveDocument),
  (proven) =>
    proven
      .check("nonce", async ({ attempt: { installation, mount }, fields, document }) => {
        return { result: await prepareNonce(installation.keys, mount, document.instanceId, fields.nonce) };
      })
      .with(INSTANCE)
      .check("role_tag", async ({ target, instance }) => {
        const { roleTag } = target.role;
        const actual = instance.tags.get(roleTag) ?? null;
        return { bound: roleTag === "" ? [] : [roleTag], actual, result: await grantOf(target, instance) };
      })
      .check("deny_list", async ({ attempt: { env, mount }, tag }) => {
        const isDenied = tag !== null && (await cloudAuthAt(env, mount).isDenied(tag));
        return { actual: tag, result: isDenied ? refuse("role tag is deny listed") : ok({}) };
      })
      .find(instanceClient)
      // The only check that writes is the last one. A login is entered before its token is issued. If the answer is
      // lost, the client repeats the login with its nonce; after a token without an entry, another client could make
      // the first login of the instance.
      .check("access_list", async ({ attempt: { env, mount }, isDryRun, ...known }) => {
        const { instanceId } = known.document;
        const { list, place } = accessShardFor(env, mount, instanceId);
        const now = currentTime();
        const login = instanceLogin(known, mount, now);
        const decided: Result<EnteredLogin | null> = isDryRun
          ? await list.judgeLogin(instanceId, login, now)
          : await changedOnce(env, (attempt) => list.enterLogin(place, instanceId, login, now, attempt));
        return { actual: instanceId, result: decided.ok ? ok({ entered: decided.value }) : decided };
      }),
);

/** A login by a signed GetCallerIdentity request. */
export const IAM_ORDER = order(CheckList.of<Begun<ProvenCaller> & Settings>().check("caller", proveCaller), (proven) =>
  proven
    .check("principal", ({ target, caller }) => judgeCaller(target, caller))
    .find((known) => (infersInstance(known.target.role) ? INFERENCE.run(known) : ok({ inferredId: "" })))
    .find(principalClient),
);

/**
 * Any client can send a proof, and verifying it costs more than reading a role. So the checks of a role come first if
 * the login names it, and after the proof if only that names it.
 */
function order<Start extends Begun, Proof extends Proven, Found extends object>(
  proof: Checks<Start & Settings, Proof>,
  add: (list: CheckList<Start & Proof & LoginTarget, object>) => Checks<Start & Proof & LoginTarget, Found>,
): Checks<Start, Proof & Found> {
  const start = CheckList.of<Start>();
  const rest = add(CheckList.of<Start & Proof & LoginTarget>());
  const named = start.find(findNamedRole).with(ROLE).with(proof).find(openTarget).with(rest);
  const unnamed = start.find(findSettings).with(proof).find(findProvenRole).with(ROLE).find(openTarget).with(rest);
  return { names: named.names, run: (known) => (known.fields.role ? named : unnamed).run(known) };
}

/** The names of all checks of a login in their order, up to those of its token. */
export function checkNames(kind: AuthType, role: CloudRole | null): readonly CheckName[] {
  if (kind === "vm") return [...VM_ORDER.names, "entity", "token"];
  return [...IAM_ORDER.names, ...(infersInstance(role) ? INFERENCE.names : []), "entity", "token"];
}
