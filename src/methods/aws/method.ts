import type { AuthMethod } from "../../auth/kinds.ts";
import { type Answered, type Route, withParameters, withPolicyPaths } from "../../auth/route.ts";
import { mountNames } from "../../backup/saved-objects.ts";
import { err, type Failure, ok, type Result } from "../../base/result.ts";
import type { SentNames } from "../../wire/field-schema.ts";
import type { Reply } from "../../wire/reply.ts";
import { namedRole } from "../role-name.ts";
import { instanceDocument } from "./documents/identity-document.ts";
import { renewCloudLogin } from "./login/renewal.ts";
import { accessShardNames } from "./mount/access-shards.ts";
import { accessShardsOf, cloudAuthAt } from "./mount/mount-config.ts";
import { LIST_ROUTES } from "./routes/access-and-deny-lists.ts";
import { CONFIG_ROUTES } from "./routes/config.ts";
import { CLOUD_LOGIN_ROUTES } from "./routes/login.ts";
import { CLOUD_ROLE_ROUTES } from "./routes/roles.ts";
import { tagValueOfPath } from "./rules/role-tag.ts";
import { translateAnswer, translateFieldName, translateMessage, translateRequest } from "./vocabulary.ts";

const PARAMETERS = {
  account_id: "The id of the account",
  cert_name: "The name of the certificate",
  instance_id: "The id of the instance",
  role: "The name of the role",
  role_tag: "The tag, plain or in base64",
};

const ROUTES: readonly Route[] = [...CLOUD_LOGIN_ROUTES, ...CONFIG_ROUTES, ...CLOUD_ROLE_ROUTES, ...LIST_ROUTES];

/** The endpoints in the vocabulary of the `cloud` mount type. */
export const CLOUD_ROUTES: readonly Route[] = withParameters(PARAMETERS, withPolicyPaths({ canonicalPath }, ROUTES));

/** The path below a mount with current names, lower-case roles and canonical tags: rules apply to every spelling. */
export function canonicalPath(path: string): string {
  return path
    .replace(/^((?:config\/)?(?:tidy\/)?)identity-whitelist(?=\/|$)/, "$1identity-accesslist")
    .replace(/^((?:config\/)?(?:tidy\/)?)roletag-blacklist(?=\/|$)/, "$1roletag-denylist")
    .replace(/^role$/, "roles")
    .replace(/^role\/[^/]+(?:\/tag)?$/, (role) => role.toLowerCase())
    .replace(/^(roletag-denylist\/)(.+)$/s, (_, place: string, tag: string) => place + tagValueOfPath(tag));
}

/** The endpoints in the vocabulary of the `aws` mount type: requests, answers and messages are translated. */
const AWS_ROUTES: readonly Route[] = CLOUD_ROUTES.map((route): Route => {
  if (route.access === "open") return { ...route, fieldName, handle: translated(route.handle) };
  if (route.access === "login") {
    const open: typeof route.open = (context, data) => translateOpened(route.open(context, translateRequest(data)));
    return { ...route, fieldName, open };
  }
  const open: typeof route.open = async (context, data) =>
    translateOpened(await route.open(context, translateRequest(data)));
  return { ...route, fieldName, open };
});

type Opened = { readonly sent: SentNames; handle(...input: never[]): Answered };

function translateOpened<O extends Opened>(opened: Result<O>): Result<O> {
  if (!opened.ok) return err(translateFailure(opened.error));
  const { sent, handle } = opened.value;
  const names = { unknown: sent.unknown.map(fieldName).sort(), known: sent.known };
  return ok({ ...opened.value, sent: names, handle: translated(handle) });
}

function fieldName(name: string): string {
  return translateFieldName("aws", name);
}

function translated<A extends unknown[]>(handle: (...input: A) => Answered): (...input: A) => Answered {
  return async (...input) => {
    const result = await handle(...input);
    return result.ok ? ok(translateReply(result.value)) : err(translateFailure(result.error));
  };
}

function translateReply(reply: Reply): Reply {
  if (!("warnings" in reply || "data" in reply)) return reply;
  const warnings = (reply.warnings ?? []).map((text) => translateMessage("aws", text));
  if (reply.kind !== "data" || !reply.data) return { ...reply, warnings };
  return { ...reply, warnings, data: translateAnswer(reply.data) };
}

function translateFailure(failure: Failure): Failure {
  if (failure.code === "unknown_fields") return { ...failure, names: failure.names.map(fieldName) };
  return "message" in failure ? { ...failure, message: translateMessage("aws", failure.message) } : failure;
}

const TYPES: ReadonlySet<string> = new Set(["cloud", "aws"]);

/** Logins of instances and principals of a cloud. */
export const CLOUD_METHOD: AuthMethod = {
  type: "cloud",
  routes: CLOUD_ROUTES,
  renew: renewCloudLogin,
  roleOfLogin: async (_env, _mount, data) => namedRole(data) ?? "",
  recognise: async ({ text }) => instanceDocument(text),
  documentIn: instanceDocument,
  rolesGiving: (env, mount, policy) => cloudAuthAt(env, mount).rolesGiving(policy),
  objects: {
    CloudAccessList: {
      in: (env) => env.CLOUD_ACCESS_LIST,
      names: (_, mounts) => mounts.filter(({ type }) => TYPES.has(type)).flatMap(({ uuid }) => accessShardNames(uuid)),
    },
    CloudAuth: { in: (env) => env.CLOUD_AUTH, names: mountNames },
  },
  async erase(env, mount) {
    const objects = [cloudAuthAt(env, mount), ...accessShardsOf(env, mount)];
    await Promise.all(objects.map((object) => object.erase()));
  },
};

export const AWS_METHOD: AuthMethod = {
  ...CLOUD_METHOD,
  type: "aws",
  routes: AWS_ROUTES,
  async renew(renewal) {
    const terms = await renewCloudLogin(renewal);
    return terms.ok ? terms : err(translateFailure(terms.error));
  },
};
