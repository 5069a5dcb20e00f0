import { randomBytes } from "node:crypto";

/** A user with access keys. */
export interface User {
  readonly name: string;
  readonly path: string;
  readonly id: string;
  readonly accountId: string;
}

/** A role that users of some accounts may assume. */
export interface Role {
  readonly name: string;
  readonly path: string;
  readonly id: string;
  readonly accountId: string;
  readonly trusts: readonly string[];
  /** What the trust policy asks for; null: nothing. */
  readonly externalId: string | null;
  /** The tokens of an issuer that may assume it; null for none. */
  webIdentity: { readonly issuer: string; readonly audience: string; readonly subject: string } | null;
}

/** An OpenID issuer that an account has registered. */
export interface IdentityProvider {
  readonly accountId: string;
  /** Its `iss`, with the scheme. */
  readonly url: string;
  readonly audiences: readonly string[];
}

/** What an access key belongs to: a user, or a session of a role. */
export interface Key {
  readonly id: string;
  readonly secret: string;
  readonly holder: { readonly user: User } | { readonly role: Role; readonly session: string };
  /** null for the keys of a user. */
  readonly token: string | null;
  /** ms; null: never. */
  readonly expiresAt: number | null;
}

export interface Instance {
  readonly id: string;
  readonly accountId: string;
  readonly region: string;
  state: string;
  readonly imageId: string;
  readonly vpcId: string;
  readonly subnetId: string;
  /** Name of an instance profile of the account. */
  profile: string | null;
  tags: Readonly<Record<string, string>>;
}

/** The accounts of the fake cloud and what is in them. */
export class World {
  readonly users: User[] = [];
  readonly roles: Role[] = [];
  readonly keys: Key[] = [];
  readonly instances: Instance[] = [];
  readonly identityProviders: IdentityProvider[] = [];
  /** Instance profiles: `<account>/<name>` to the name of the role in it. */
  readonly profiles = new Map<string, string>();

  addUser(accountId: string, name: string, path = "/"): User {
    const user = { name, path, id: newId("AIDA"), accountId };
    this.users.push(user);
    return user;
  }

  addRole(
    accountId: string,
    name: string,
    options: { path?: string; trusts?: string[]; id?: string; externalId?: string } = {},
  ): Role {
    const { path = "/", trusts = [], id = newId("AROA"), externalId = null } = options;
    const role = { name, path, id, accountId, trusts, externalId, webIdentity: null };
    this.roles.push(role);
    return role;
  }

  /** Deletes a role and makes another one with the same name. */
  recreateRole(role: Role): Role {
    this.roles.splice(this.roles.indexOf(role), 1);
    return this.addRole(role.accountId, role.name, { path: role.path, trusts: [...role.trusts] });
  }

  addKey(user: User): Key {
    const key = { id: newId("AKIA"), secret: newSecret(), holder: { user }, token: null, expiresAt: null };
    this.keys.push(key);
    return key;
  }

  /** Temporary credentials of a role, as a client that assumes it gets them. */
  addSession(role: Role, session: string, expiresAt: number): Key {
    const token = randomBytes(48).toString("base64");
    const key = { id: newId("ASIA"), secret: newSecret(), holder: { role, session }, token, expiresAt };
    this.keys.push(key);
    return key;
  }

  addInstance(accountId: string, region: string, options: Partial<Instance> = {}): Instance {
    const instance: Instance = {
      id: `i-0${randomBytes(8).toString("hex")}`,
      accountId,
      region,
      state: "running",
      imageId: "ami-0123456789abcdef0",
      vpcId: "vpc-1",
      subnetId: "subnet-1",
      profile: null,
      tags: {},
      ...options,
    };
    this.instances.push(instance);
    return instance;
  }

  /** Puts a role into an instance profile. */
  addProfile(role: Role, name: string): void {
    this.profiles.set(`${role.accountId}/${name}`, role.name);
  }

  keyById(id: string): Key | undefined {
    return this.keys.find((key) => key.id === id);
  }

  deleteKey(id: string): boolean {
    const at = this.keys.findIndex((key) => key.id === id);
    if (at >= 0) this.keys.splice(at, 1);
    return at >= 0;
  }
}

/** Account, ARN and user id of the holder of a key, as STS states them. */
export function identityOf(key: Key): { readonly account: string; readonly arn: string; readonly userId: string } {
  if ("user" in key.holder) {
    const { user } = key.holder;
    return { account: user.accountId, arn: userArn(user), userId: user.id };
  }
  const { role, session } = key.holder;
  const arn = `arn:aws:sts::${role.accountId}:assumed-role/${role.name}/${session}`;
  return { account: role.accountId, arn, userId: `${role.id}:${session}` };
}

export function userArn({ accountId, path, name }: User): string {
  return `arn:aws:iam::${accountId}:user${path}${name}`;
}

export function roleArn({ accountId, path, name }: Role): string {
  return `arn:aws:iam::${accountId}:role${path}${name}`;
}

function newId(prefix: string): string {
  return prefix + randomBytes(8).toString("hex").toUpperCase();
}

function newSecret(): string {
  return randomBytes(30).toString("base64");
}
