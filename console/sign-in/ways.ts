import type { ShownMounts } from "../../client/answers.d.ts";
import { pathOf } from "../href.ts";
import type { Credential } from "./credential.ts";

/** An auth method that is listed before sign-in (`listing_visibility`). */
export interface ListedMount {
  /** Below `auth/`, without a slash at the end. */
  readonly path: string;
  readonly type: string;
  readonly description: string;
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
  /** A field without which somebody signs in at the identity provider; "" when nobody can sign in otherwise. */
  readonly unlessSent?: string;
}

const ROLE: LoginField = { name: "role", label: "Role", hint: "Empty: the default role of the method." };
const JWT: LoginField = { name: "jwt", label: "JWT", isSecret: true };

/** What a login asks for, by type of method. Clients log in by the other types. */
export const LOGIN_FORMS: Readonly<Record<string, LoginForm>> = {
  oidc: { label: "OIDC", fields: [ROLE], unlessSent: "" },
  // Mounts of either type have roles of either type.
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

/** True when a login with these values goes on at the identity provider. */
export function isAtProvider(type: string, values: Readonly<Record<string, string>>): boolean {
  const { unlessSent } = LOGIN_FORMS[type] ?? {};
  return unlessSent !== undefined && (values[unlessSent] ?? "").trim() === "";
}

/** True for a method that people can sign in by. */
export const isUsable = ({ type }: Pick<ListedMount, "type">): boolean => Object.hasOwn(LOGIN_FORMS, type);

/** The listed mounts, by path. */
export function listedMounts({ auth }: Pick<ShownMounts, "auth">): readonly ListedMount[] {
  return Object.entries(auth)
    .map(([path, { type, description }]) => ({ path: withoutSlashes(path), type, description }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** A method to sign in by: one that is listed, or one that is typed. */
export interface ChosenMethod {
  readonly isListed: boolean;
  readonly path: string;
  readonly type: string;
}

/**
 * The method that the page begins with: the one that the address asks for as in the reference's (`?with=PATH`), or the
 * first listed one by path. Null when neither is there.
 *
 * @param wanted value of `with`; "" without one
 */
export function firstMethod(listed: readonly ListedMount[], wanted: string): ChosenMethod | null {
  const usable = listed.filter(isUsable);
  const path = withoutSlashes(wanted);
  const first = usable.find((mount) => mount.path === path) ?? (path === "" ? usable[0] : undefined);
  if (first) return { isListed: true, path: first.path, type: first.type };
  if (path === "" || path === "token") return null;
  // A method that is not listed can be linked to. A mount is often named as its type.
  return { isListed: false, path, type: isUsable({ type: path }) ? path : "jwt" };
}

/** The path of a chosen method. Where none was typed it is that of most installations, the name of the type. */
export const pathOfMethod = ({ path, type }: ChosenMethod): string => withoutSlashes(path) || type;

/** The login by a method with what was typed. */
export function loginOf(method: ChosenMethod, values: Readonly<Record<string, string>>): Credential {
  const { fields = [] } = LOGIN_FORMS[method.type] ?? {};
  const sent = fields.map(({ name }) => [name, (values[name] ?? "").trim()] as const).filter(([, text]) => text !== "");
  return { kind: "login", path: `${mountPath(pathOfMethod(method))}/login`, fields: Object.fromEntries(sent) };
}

/** The path of a mount for calls; its parts are encoded. */
export const mountPath = (mount: string): string => `auth/${pathOf(...mount.split("/").filter((part) => part !== ""))}`;

const withoutSlashes = (path: string): string => path.trim().replace(/^\/+|\/+$/g, "");
