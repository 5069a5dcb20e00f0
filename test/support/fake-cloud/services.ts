import { type CloudReply, ec2Refusal, refusal, xml } from "./request.ts";
import { type Instance, identityOf, type Key, type Role, roleArn, type User, userArn, type World } from "./world.ts";

/** One call of an operation by the holder of a key, already authenticated. */
export interface Operation {
  readonly world: World;
  readonly key: Key;
  readonly region: string;
  readonly form: URLSearchParams;
  /** ms. */
  readonly now: number;
}

type Handler = (operation: Operation) => CloudReply;

/** The operations of the fake cloud, by service. */
export const SERVICES: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
  sts: { GetCallerIdentity: getCallerIdentity, AssumeRole: assumeRole },
  ec2: { DescribeInstances: describeInstances },
  iam: {
    GetUser: getUser,
    GetRole: getRole,
    GetInstanceProfile: getInstanceProfile,
    CreateAccessKey: createAccessKey,
    DeleteAccessKey: deleteAccessKey,
  },
};

function getCallerIdentity({ key }: Operation): CloudReply {
  const { account, arn, userId } = identityOf(key);
  return result("GetCallerIdentity", "https://sts.amazonaws.com/doc/2011-06-15/", {
    Arn: arn,
    UserId: userId,
    Account: account,
  });
}

function assumeRole({ world, key, form, now }: Operation): CloudReply {
  const role = world.roles.find((one) => roleArn(one) === form.get("RoleArn"));
  if (!role?.trusts.includes(identityOf(key).account)) return refusal(403, "AccessDenied");
  if (role.externalId !== null && form.get("ExternalId") !== role.externalId) return refusal(403, "AccessDenied");
  return assumed("AssumeRole", world, role, form, now);
}

/** The answer to an operation that gives a session of a role. */
export function assumed(operation: string, world: World, role: Role, form: URLSearchParams, now: number): CloudReply {
  const session = form.get("RoleSessionName") ?? "";
  const expiresAt = now + Number(form.get("DurationSeconds") ?? "3600") * 1000;
  const made = world.addSession(role, session, expiresAt);
  return result(operation, "https://sts.amazonaws.com/doc/2011-06-15/", {
    AssumedRoleUser: { Arn: identityOf(made).arn, AssumedRoleId: `${role.id}:${session}` },
    Credentials: {
      AccessKeyId: made.id,
      SecretAccessKey: made.secret,
      SessionToken: made.token ?? "",
      Expiration: new Date(expiresAt).toISOString(),
    },
  });
}

function describeInstances({ world, key, region, form }: Operation): CloudReply {
  const { account } = identityOf(key);
  const wanted = [...form].filter(([name]) => name.startsWith("Filter.1.Value.")).map(([, value]) => value);
  if (form.get("Filter.1.Name") !== "instance-id" || wanted.length === 0) return ec2Refusal(400, "InvalidParameter");
  const found = world.instances.filter(
    (one) => one.accountId === account && one.region === region && wanted.includes(one.id),
  );
  const reservations = found.map(
    (one) => `<item><ownerId>${account}</ownerId><instancesSet>${describe(one)}</instancesSet></item>`,
  );
  return {
    status: 200,
    headers: { "content-type": "text/xml;charset=UTF-8" },
    body: `<?xml version="1.0" encoding="UTF-8"?>
<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>1</requestId>
<reservationSet>${reservations.join("")}</reservationSet></DescribeInstancesResponse>`,
  };
}

function describe(instance: Instance): string {
  const tags = Object.entries(instance.tags).map(([key, value]) => `<item>${elements({ key, value })}</item>`);
  const profile = `arn:aws:iam::${instance.accountId}:instance-profile/${instance.profile}`;
  return `<item>${elements({
    instanceId: instance.id,
    imageId: instance.imageId,
    instanceState: { code: "16", name: instance.state },
    subnetId: instance.subnetId,
    vpcId: instance.vpcId,
    ...(instance.profile !== null && { iamInstanceProfile: { arn: profile, id: "AIPA" } }),
  })}<tagSet>${tags.join("")}</tagSet></item>`;
}

function getUser({ world, key, form }: Operation): CloudReply {
  const name = form.get("UserName");
  const { account } = identityOf(key);
  const own = "user" in key.holder ? key.holder.user : undefined;
  const user = name === null ? own : world.users.find((one) => one.accountId === account && one.name === name);
  return user ? iamResult("GetUser", { User: userFields(user) }) : refusal(404, "NoSuchEntity");
}

function getRole({ world, key, form }: Operation): CloudReply {
  const role = roleOf(world, identityOf(key).account, form.get("RoleName"));
  return role ? iamResult("GetRole", { Role: roleFields(role) }) : refusal(404, "NoSuchEntity");
}

function getInstanceProfile({ world, key, form }: Operation): CloudReply {
  const { account } = identityOf(key);
  const role = roleOf(world, account, world.profiles.get(`${account}/${form.get("InstanceProfileName")}`) ?? null);
  if (!role) return refusal(404, "NoSuchEntity");
  return iamResult("GetInstanceProfile", { InstanceProfile: { Roles: { member: roleFields(role) } } });
}

function createAccessKey({ world, key, form }: Operation): CloudReply {
  const { account } = identityOf(key);
  const user = world.users.find((one) => one.accountId === account && one.name === form.get("UserName"));
  if (!user) return refusal(404, "NoSuchEntity");
  const existing = world.keys.filter((one) => "user" in one.holder && one.holder.user === user);
  if (existing.length >= 2) return refusal(409, "LimitExceeded");
  const made = world.addKey(user);
  return iamResult("CreateAccessKey", {
    AccessKey: { UserName: user.name, AccessKeyId: made.id, Status: "Active", SecretAccessKey: made.secret },
  });
}

function deleteAccessKey({ world, form }: Operation): CloudReply {
  if (!world.deleteKey(form.get("AccessKeyId") ?? "")) return refusal(404, "NoSuchEntity");
  return xml(200, "<DeleteAccessKeyResponse><ResponseMetadata/></DeleteAccessKeyResponse>");
}

function roleOf(world: World, account: string, name: string | null): Role | undefined {
  return world.roles.find((one) => one.accountId === account && one.name === name);
}

function userFields(user: User): Fields {
  return { Path: user.path, UserName: user.name, UserId: user.id, Arn: userArn(user) };
}

function roleFields(role: Role): Fields {
  return { Path: role.path, RoleName: role.name, RoleId: role.id, Arn: roleArn(role) };
}

type Fields = { readonly [name: string]: string | Fields };

function iamResult(operation: string, fields: Fields): CloudReply {
  return result(operation, "https://iam.amazonaws.com/doc/2010-05-08/", fields);
}

function result(operation: string, namespace: string, fields: Fields): CloudReply {
  const inner = `<${operation}Result>${elements(fields)}</${operation}Result>`;
  return xml(200, `<${operation}Response xmlns="${namespace}">${inner}<ResponseMetadata/></${operation}Response>`);
}

function elements(fields: Fields): string {
  return Object.entries(fields)
    .map(([name, value]) => `<${name}>${typeof value === "string" ? escapeXml(value) : elements(value)}</${name}>`)
    .join("");
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
