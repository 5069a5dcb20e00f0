import type { ShownMounts } from "../../client/answers.d.ts";
import { belowMount } from "../methods/mount-paths.ts";
import type { Credential } from "./credential.ts";

/** An auth method that is listed before sign-in (`listing_visibility`). */
export interface ListedMount {
  /** The path below `auth/`, without a slash at the end. */
  readonly path: string;
  readonly type: string;
  readonly description: string;
  /** False: the method has no identity provider. Undefined: not known. */
  readonly hasProvider?: boolean | undefined;
}

export interface LoginField {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly isSecret?: boolean;
  readonly isRequired?: boolean;
}

interface LoginForm {
  readonly label: string;
  readonly fields: readonly LoginField[];
  /** The field without which the login continues at the identity provider; "": it always does. */
  readonly unlessSent?: string;
}

const ROLE: LoginField = { name: "role", label: "Role", hint: "Empty: the default role of the method." };
const JWT: LoginField = { name: "jwt", label: "JWT", isSecret: true };

/** The fields of a login, by the type of its method, those that people use first. Other types are not for people. */
export const LOGIN_FORMS: Readonly<Record<string, LoginForm>> = {
  oidc: { label: "OIDC", fields: [ROLE], unlessSent: "" },
  // Mounts of both types can have roles of both types.
  jwt: {
    label: "JWT",
    fields: [ROLE, { ...JWT, hint: "Signed by your identity provider or CI. Empty: you sign in at the provider." }],
    unlessSent: "jwt",
  },
  approle: {
    label: "AppRole",
    fields: [
      { name: "role_id", label: "Role ID", isRequired: true },
      { name: "secret_id", label: "Secret ID", isSecret: true, hint: "Empty for a role that needs none." },
    ],
  },
  kubernetes: {
    label: "Kubernetes",
    fields: [
      { ...ROLE, hint: "The role of the method.", isRequired: true },
      { ...JWT, hint: "The token of a service account.", isRequired: true },
    ],
  },
};

/** The form of a method without an identity provider: a JWT is the only way in, also at a mount of the type `oidc`. */
const JWT_ONLY: LoginForm = {
  label: "JWT",
  fields: [ROLE, { ...JWT, hint: "Signed by your identity provider or CI.", isRequired: true }],
};

type Method = Pick<ChosenMethod, "type" | "hasProvider">;

/** The form of a login at a method; undefined for a method that is not for people. */
export function formOf({ type, hasProvider }: Method): LoginForm | undefined {
  const form = LOGIN_FORMS[type];
  return form?.unlessSent !== undefined && hasProvider === false ? JWT_ONLY : form;
}

/** True when a login with these values continues at the identity provider. */
export function isAtProvider(method: Method, values: Readonly<Record<string, string>>): boolean {
  const { unlessSent } = formOf(method) ?? {};
  return unlessSent !== undefined && (values[unlessSent] ?? "").trim() === "";
}

/** The names of required fields of a method that are empty. */
export const missingIn = (method: Method, values: Readonly<Record<string, string>>): readonly string[] =>
  (formOf(method)?.fields ?? [])
    .filter(({ name, isRequired = false }) => isRequired && (values[name] ?? "").trim() === "")
    .map(({ name }) => name);

/** True for a method with which people can sign in. */
export const isUsable = ({ type }: Pick<ListedMount, "type">): boolean => Object.hasOwn(LOGIN_FORMS, type);

/** The listed mounts: in the order of `LOGIN_FORMS`, then by path. */
export function listedMounts({ auth }: Pick<ShownMounts, "auth">): readonly ListedMount[] {
  const types = Object.keys(LOGIN_FORMS);
  const rank = ({ type }: ListedMount): number => (types.includes(type) ? types.indexOf(type) : types.length);
  return Object.entries(auth)
    .map(([path, { type, description, browser_login: hasProvider }]) => {
      return { path: withoutSlashes(path), type, description, hasProvider };
    })
    .sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
}

/** A chosen method, from the list or typed. */
export interface ChosenMethod {
  readonly isListed: boolean;
  readonly path: string;
  readonly type: string;
  /** As in `ListedMount`; undefined for a typed one. */
  readonly hasProvider?: boolean | undefined;
}

/**
 * The initial method: the one in the parameter `with` of the URL, as in the reference, or else the first listed method.
 * Null without either.
 *
 * @param wanted value of `with`; "" without one
 */
export function firstMethod(listed: readonly ListedMount[], wanted: string): ChosenMethod | null {
  const usable = listed.filter(isUsable);
  const path = withoutSlashes(wanted);
  const first = usable.find((mount) => mount.path === path) ?? (path === "" ? usable[0] : undefined);
  if (first) return { isListed: true, path: first.path, type: first.type, hasProvider: first.hasProvider };
  if (path === "" || path === "token") return null;
  // A link can name a method that is not listed. Its type is unknown, but many mounts are named after their type. Such
  // links are for people, who sign in at their provider.
  return { isListed: false, path, type: isUsable({ type: path }) ? path : "oidc" };
}

/** The path of a chosen method; by default the name of its type. */
export const pathOfMethod = ({ path, type }: ChosenMethod): string => withoutSlashes(path) || type;

/** The login at a method with the typed values. */
export function loginOf(method: ChosenMethod, values: Readonly<Record<string, string>>): Credential {
  const { fields = [] } = formOf(method) ?? {};
  const sent = fields.map(({ name }) => [name, (values[name] ?? "").trim()] as const).filter(([, text]) => text !== "");
  return { kind: "login", path: belowMount(pathOfMethod(method), "login"), fields: Object.fromEntries(sent) };
}

const withoutSlashes = (path: string): string => path.trim().replace(/^\/+|\/+$/g, "");
