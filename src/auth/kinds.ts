import { type SavedClass, type SavedClasses, savedClasses } from "../backup/saved-objects.ts";
import type { Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { PolicyUsage } from "../policy/usage.ts";
import type { AgedTerm } from "../system/aged-terms.ts";
import type { Installation } from "../system/installation.ts";
import type { Mount } from "../system/mount.ts";
import type { ObjectCheck } from "../tidy/report.ts";
import type { TokenView } from "../token/record.ts";
import type { RenewTerms } from "../token/rules/renew.ts";
import type { Dialect } from "../wire/dialect.ts";
import type { CredentialFormat } from "./credential.ts";
import type { InstanceDocument, LeakedText, LoginText } from "./leaked-text.ts";
import type { Route, TokenRoute } from "./route.ts";

/** The kinds of mounts and of credentials besides those of the core. `src/app/registry.ts` lists them. */
export interface Kinds {
  /** By the type of their mounts. */
  readonly methods: ReadonlyMap<string, AuthMethod>;
  readonly credentials: readonly CredentialKind[];
  /** The classes of objects in backups, in their order. */
  readonly objects: ReadonlyMap<string, SavedClass>;
}

export function kindsOf(methods: readonly AuthMethod[], credentials: readonly CredentialKind[]): Kinds {
  const classes = (kinds: readonly (AuthMethod | CredentialKind)[]) => kinds.map(({ objects }) => objects);
  return {
    methods: new Map(
      methods.flatMap((method) => {
        const types = method.otherType === undefined ? [method.type] : [method.type, method.otherType];
        return types.map((type) => [type, method] as const);
      }),
    ),
    credentials,
    objects: savedClasses(classes(credentials), classes(methods)),
  };
}

interface Kind {
  /** Its classes of objects in backups: a class that refers to another one comes before it. */
  readonly objects: SavedClasses;
}

export interface CredentialKind extends Kind {
  readonly format: CredentialFormat;
  /** The interfaces in which it is managed. Their paths begin with segments of their own. */
  readonly apis: readonly Api[];
  /** What gives policies to its credentials. */
  readonly holders: readonly PolicyUsageKind[];
  /** Compares its lists with its objects, and checks the seals of both. `aged` terms are dropped if nothing needs them. */
  tidy(env: Env, aged: readonly AgedTerm[]): Promise<ObjectCheck>;
}

export interface PolicyUsageKind {
  /** In the plural, for example "teams". */
  readonly name: string;
  /** Returns the holders that give a policy. At most `maxAsked` objects are asked. */
  giving(env: Env, policy: string, maxAsked: number): Promise<PolicyUsage>;
}

/** Routes with full paths, the dialect of their requests, and the other paths of their resources, if they have any. */
export interface Api extends Pick<TokenRoute, "otherPaths"> {
  readonly dialect: Dialect;
  readonly routes: readonly Route[];
}

/** A kind of mount: an auth method. */
export interface AuthMethod extends Kind {
  readonly type: string;
  /** Another type of mount that is the same in all but its name. */
  readonly otherType?: string;
  /** Its endpoints, by the path below a mount. Logins are among them. */
  readonly routes: readonly Route[];
  /** Deletes everything that the method stored for a mount, after the mount was disabled. Safe to repeat. */
  erase(env: Env, mount: Pick<Mount, "uuid">): Promise<void>;
  /**
   * Returns the role for which a login with these fields is made, also the default role; "" for none. A quota counts
   * the login under it before anything is verified. A role that only the proof names is passed to `admitRole`.
   */
  roleOfLogin(env: Env, mount: Mount, data: Readonly<Record<string, unknown>>): Promise<string>;
  /**
   * Recognises a text with which clients of a mount log in, without a login and without counting a use; null for any
   * other text. Absent for a method whose proofs are each made for one login, and worthless after it.
   */
  readonly recognise?: (question: LeakedText) => Promise<LoginText | null>;
  /** Reads a text by which instances of a cloud log in, whatever mounts there are; null for any other text. */
  readonly documentIn?: (text: string) => InstanceDocument | null;
  /**
   * True when people can log in at the identity provider of a mount. The answer is public for a mount that is listed
   * before login. Absent for a method without logins through a browser.
   */
  readonly hasProvider?: (env: Env, mount: Mount) => Promise<boolean>;
  /** Returns the names of the roles of a mount whose tokens get this policy. */
  rolesGiving(env: Env, mount: Mount, policy: string): Promise<readonly string[]>;
  /** Checks whether the login would still be allowed. Runs in the Worker. Returns the current terms, or a refusal. */
  renew(renewal: LoginRenewal): Promise<Result<RenewTerms>>;
}

/** Input of an auth method's check when a token that it issued is renewed. */
export interface LoginRenewal {
  readonly env: Env;
  readonly installation: Installation;
  readonly mount: Mount;
  readonly token: TokenView;
  /** Data that the method stored in the token at the login. */
  readonly internal: Readonly<Record<string, string>>;
}
