import {
  changeTokenSettings,
  DEFAULT_TOKEN_SETTINGS,
  OLD_LIMIT_FIELDS,
  OLD_LIMITS,
  TOKEN_FIELDS,
  TOKEN_SETTINGS,
  type TokenSettings,
  tokenFieldsProblem,
} from "../../auth/token-settings.ts";
import { ok, refuse } from "../../base/result.ts";
import type { MountTtl } from "../../system/mount.ts";
import { globMatches } from "../../token/rules/glob.ts";
import { roleSchema, type Values } from "../../wire/field-schema.ts";
import { list, sent, text } from "../../wire/fields.ts";
import { fieldsOf, view } from "../../wire/view.ts";
import { readSelector } from "./label-selector.ts";
import type { ClaimedAccount, ServiceAccount } from "./service-account.ts";

const ALIAS_NAME_SOURCES = ["serviceaccount_uid", "serviceaccount_name"] as const;
type AliasNameSource = (typeof ALIAS_NAME_SOURCES)[number];

export interface KubernetesRole {
  /** Names and globs of service accounts. */
  readonly names: readonly string[];
  /** Names and globs of namespaces. A namespace may fit them or the selector. */
  readonly namespaces: readonly string[];
  /** As it was written; "" for none. */
  readonly namespaceSelector: string;
  /** "" for that of the API server. */
  readonly audience: string;
  readonly aliasNameSource: AliasNameSource;
  readonly token: TokenSettings;
}

const NEW_ROLE: KubernetesRole = {
  names: [],
  namespaces: [],
  namespaceSelector: "",
  audience: "",
  aliasNameSource: "serviceaccount_uid",
  token: DEFAULT_TOKEN_SETTINGS,
};

export const KUBERNETES_ROLE_FIELDS = roleSchema({
  bound_service_account_names: sent(list()).describe("Service accounts that may log in; `*` for any characters"),
  bound_service_account_namespaces: sent(list()).describe("Their namespaces; `*` for any characters"),
  bound_service_account_namespace_selector: sent(text()).describe(
    "Labels of their namespaces, as YAML or JSON with `matchLabels`; name or labels must fit",
  ),
  audience: sent(text()).describe("The audience of tokens; that of the API server unless set"),
  alias_name_source: sent(text()).describe("`serviceaccount_uid`, or `serviceaccount_name` for `namespace/name`"),
  ...TOKEN_FIELDS,
  ...OLD_LIMIT_FIELDS,
});
export type KubernetesRoleFields = Values<typeof KUBERNETES_ROLE_FIELDS>;

const MAX_ENTRIES = 500;
const MAX_ENTRY = 253;
const MAX_AUDIENCE = 1024;

/** Returns the problem with the fields of a write, whatever is stored, or null. See `changeKubernetesRole`. */
export function kubernetesRoleProblem(fields: KubernetesRoleFields): string | null {
  const source = fields.alias_name_source ?? "";
  if (source !== "" && !isAliasNameSource(source)) return BAD_SOURCE;
  const { bound_service_account_names: names, bound_service_account_namespaces: namespaces } = fields;
  if (names?.length === 0) return NO_NAMES;
  const selector = fields.bound_service_account_namespace_selector ?? "";
  return (
    tokenFieldsProblem(fields) ??
    boundsProblem(names ?? [], namespaces ?? [], selector) ??
    ((fields.audience ?? "").length > MAX_AUDIENCE ? `audience must not be longer than ${MAX_AUDIENCE}` : null)
  );
}

const BAD_SOURCE = `invalid alias_name_source, must be one of: ${ALIAS_NAME_SOURCES.join(", ")}`;
const NO_NAMES = '"bound_service_account_names" can not be empty';

/** Applies a write. Returns the role and warnings, or a 400. Messages are the reference's where it has them. */
export function changeKubernetesRole(before: KubernetesRole | null, fields: KubernetesRoleFields, mount: MountTtl) {
  const old = before ?? NEW_ROLE;
  const token = changeTokenSettings(old.token, fields, mount);
  if (!token.ok) return refuse(token.error);
  const source = fields.alias_name_source ?? "";
  const role: KubernetesRole = {
    names: fields.bound_service_account_names ?? old.names,
    namespaces: fields.bound_service_account_namespaces ?? old.namespaces,
    namespaceSelector: fields.bound_service_account_namespace_selector ?? old.namespaceSelector,
    audience: fields.audience ?? old.audience,
    aliasNameSource: isAliasNameSource(source) ? source : old.aliasNameSource,
    token: token.value.settings,
  };
  const problem = kubernetesRoleProblem(fields) ?? roleProblem(role);
  return problem ? refuse(problem) : ok({ role, warnings: token.value.warnings });
}

/** The fields of a read. */
export const KUBERNETES_ROLE_VIEW = view<KubernetesRole>({
  alias_name_source: ["string", (role) => role.aliasNameSource],
  "audience?": ["string", (role) => role.audience || undefined],
  bound_service_account_names: [["string"], (role) => role.names],
  bound_service_account_namespace_selector: ["string", (role) => role.namespaceSelector],
  bound_service_account_namespaces: [["string"], (role) => role.namespaces],
  ...fieldsOf((role) => role.token, { ...TOKEN_SETTINGS, ...OLD_LIMITS }),
});

/** True when the role takes a service account of this name, in whatever namespace. */
export function takesName({ names }: KubernetesRole, { name }: Pick<ServiceAccount, "name">): boolean {
  return names.some((glob) => globMatches(glob, name));
}

/** Whether the role takes service accounts of this namespace: "by labels" when its selector decides. */
export function takesNamespace(
  { namespaces, namespaceSelector }: KubernetesRole,
  { namespace }: Pick<ServiceAccount, "namespace">,
): boolean | "by labels" {
  if (namespaces.some((glob) => globMatches(glob, namespace))) return true;
  return namespaceSelector === "" ? false : "by labels";
}

/** True for claims that the role may take: the labels of the namespace and the API server are not asked. */
export function mayTake(role: KubernetesRole, account: ClaimedAccount): boolean {
  const isForIt = role.audience === "" || account.audiences.includes(role.audience);
  return isForIt && takesName(role, account) && takesNamespace(role, account) !== false;
}

/** The alias of a service account: its uid, which no other one ever has, or its name, which a later one can have. */
export function aliasNameOf({ aliasNameSource }: KubernetesRole, account: ServiceAccount): string {
  return aliasNameSource === "serviceaccount_uid" ? account.uid : `${account.namespace}/${account.name}`;
}

function isAliasNameSource(text: string): text is AliasNameSource {
  return ALIAS_NAME_SOURCES.some((source) => source === text);
}

function roleProblem({ names, namespaces, namespaceSelector: selector }: KubernetesRole): string | null {
  if (names.length === 0) return NO_NAMES;
  if (namespaces.length === 0 && selector === "") {
    return '"bound_service_account_namespaces" can not be empty if "bound_service_account_namespace_selector" is not set';
  }
  return null;
}

function boundsProblem(names: readonly string[], namespaces: readonly string[], selector: string): string | null {
  for (const [field, entries] of Object.entries({ names, namespaces })) {
    if (entries.length > MAX_ENTRIES || entries.some((entry) => entry.length > MAX_ENTRY)) {
      return `bound_service_account_${field} holds at most ${MAX_ENTRIES} entries of ${MAX_ENTRY} characters`;
    }
    if (entries.length > 1 && entries.includes("*")) return 'can not mix "*" with values';
  }
  const read = selector === "" ? null : readSelector(selector);
  return read && !read.ok ? `invalid "bound_service_account_namespace_selector" configured: it ${read.error}` : null;
}
