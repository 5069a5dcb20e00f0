import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Result } from "../../../../../src/base/result.ts";
import {
  type CloudAnswer,
  errorCodeOf,
  MAX_ANSWER_BYTES,
  readAssumedCredentials,
  readCallerIdentity,
  readCreatedAccessKey,
  readInstanceProfileRole,
  readInstances,
  readOwnAccount,
  readRole,
  readUser,
  runningInstance,
} from "../../../../../src/methods/aws/answers/read-answers.ts";

const account = "123456789012";
const answer = (body: string, change: Partial<CloudAnswer> = {}): CloudAnswer => ({
  status: 200,
  contentType: "text/xml",
  body,
  ...change,
});

function outcome<T>(result: Result<T>): T | string {
  if (result.ok) return result.value;
  return "message" in result.error ? result.error.message : result.error.code;
}

const arn = `arn:aws:sts::${account}:assumed-role/Worker/i-0123456789abcdef0`;
const identity = (
  fields = `<Arn>${arn}</Arn><UserId>AROAEXAMPLE:i-0123456789abcdef0</UserId><Account>${account}</Account>`,
) =>
  `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <GetCallerIdentityResult>${fields}</GetCallerIdentityResult>
  <ResponseMetadata><RequestId>01234567-89ab</RequestId></ResponseMetadata>
</GetCallerIdentityResponse>
`;
const caller = (body: string, change: Partial<CloudAnswer> = {}) =>
  outcome(readCallerIdentity(answer(body, change), "aws"));

describe("GetCallerIdentity", () => {
  it("names an assumed role", () => {
    expect(caller(identity())).toMatchObject({
      accountId: account,
      userId: "AROAEXAMPLE:i-0123456789abcdef0",
      uniqueId: "AROAEXAMPLE",
      principal: { type: "assumed-role", friendlyName: "Worker", sessionName: "i-0123456789abcdef0" },
    });
  });

  it("names a user, with an XML declaration and a charset too", () => {
    const body = identity(
      `<Arn>arn:aws:iam::${account}:user/p/Bob</Arn><UserId>AIDAEXAMPLE</UserId><Account>${account}</Account>`,
    );
    const user = { uniqueId: "AIDAEXAMPLE", principal: { type: "user", path: "p" } };
    expect(caller(body)).toMatchObject(user);
    expect(caller(`<?xml version="1.0" encoding="UTF-8"?>\n${body}`)).toMatchObject(user);
    expect(caller(body, { contentType: "text/xml; charset=utf-8" })).toMatchObject(user);
  });

  it.each([
    ["JSON that embeds XML", JSON.stringify({ x: identity() })],
    ["junk before the root", `junk${identity()}`],
    ["junk after the root", `${identity()}junk`],
    ["two roots", identity() + identity()],
    ["another root", identity().replaceAll("GetCallerIdentityResponse", "AssumeRoleResponse")],
    ["the answer inside another root", `<Other>${identity()}</Other>`],
    ["a prefixed root", identity().replaceAll("GetCallerIdentityResponse", "x:GetCallerIdentityResponse")],
    ["no result", "<GetCallerIdentityResponse></GetCallerIdentityResponse>"],
    ["an empty result", identity("")],
    ["two results", identity().replace("<ResponseMetadata>", "<GetCallerIdentityResult/><ResponseMetadata>")],
    ["no account", identity(`<Arn>${arn}</Arn><UserId>AROA:x</UserId>`)],
    ["two ARNs", identity().replace("<UserId>", `<Arn>${arn}</Arn><UserId>`)],
    ["two accounts", identity().replace("<UserId>", "<Account>999999999999</Account><UserId>")],
    ["an element inside the ARN", identity().replace(arn, `<b>${arn}</b>`)],
    ["text and an element inside the ARN", identity().replace(arn, `${arn}<b/>`)],
    ["a comment", identity().replace(arn, `${arn}<!-- x -->`)],
    ["a comment that splits the ARN", identity().replace(account, `${account.slice(0, 5)}<!---->${account.slice(5)}`)],
    ["CDATA", identity().replace(arn, `<![CDATA[${arn}]]>`)],
    ["a document type", `<!DOCTYPE x [<!ENTITY a "b">]>${identity()}`],
    ["an entity of its own", identity().replace(arn, "&a;")],
    ["a bare ampersand", identity().replace("AROAEXAMPLE", "A&B")],
    ["a processing instruction", identity().replace(arn, `<?x y?>${arn}`)],
    ["a tag that is not closed", identity().replace("</Arn>", "")],
    ["tags that cross", identity().replace("</Arn><UserId>", "<UserId></Arn>")],
    ["a malformed account", identity().replaceAll(account, "12345678901x")],
    ["a malformed user ID", identity().replace("AROAEXAMPLE", "AROA EXAMPLE")],
    ["nothing", ""],
    ["a byte order mark and a space", "\uFEFF "],
    ["deep nesting", identity("<a>".repeat(200) + "</a>".repeat(200))],
  ])("is refused with %s", (_, body) => {
    expect(caller(body)).toMatch(/^error parsing STS response$/);
  });

  it.each([
    "text/html",
    "application/json",
    "application/xml",
    "text/xml, text/html",
    "text/xmlx",
    "text/xml; charset=utf-16",
    null,
  ])("is refused with the type %s", (contentType) => {
    expect(caller(identity(), { contentType })).toMatch(/not of the type text\/xml/);
  });

  it.each([302, 301, 201, 204, 403])("is refused with the status %i", (status) => {
    expect(caller(identity(), { status })).toBe(`received error code ${status} from STS`);
  });

  it("is refused when the ARN is of another account or partition", () => {
    expect(caller(identity().replace(`<Account>${account}`, "<Account>999999999999"))).toMatch(/another account/);
    expect(caller(identity().replace("arn:aws:", "arn:aws-cn:"))).toMatch(/another account or partition/);
  });

  it.each([
    `arn:aws:iam::${account}:root`,
    `arn:aws:sts::${account}:federated-user/Bob`,
    `arn:aws:iam::${account}:role/Worker`,
    `arn:aws:iam::${account}:instance-profile/Worker`,
    "x",
  ])("is refused for %s", (other) => {
    expect(caller(identity().replace(arn, other))).toMatch(/^error parsing arn/);
  });

  it("is refused when it is too long", () => {
    expect(caller(identity() + " ".repeat(MAX_ANSWER_BYTES.STS))).toBe("error parsing STS response");
  });

  it("a refusal by STS gives its code and nothing else of it", () => {
    const body = `<ErrorResponse xmlns="x"><Error><Type>Sender</Type><Code>SignatureDoesNotMatch</Code>
      <Message>The secret is hunter2</Message></Error><RequestId>1</RequestId></ErrorResponse>`;
    expect(caller(body, { status: 403 })).toBe("received error code 403 from STS: SignatureDoesNotMatch");
    expect(caller(body.replace("SignatureDoesNotMatch", "hunter2 <b/>"), { status: 403 })).toBe(
      "received error code 403 from STS",
    );
    expect(caller("hunter2", { status: 400 })).toBe("received error code 400 from STS");
  });

  it("a failing STS is a failure that passes", () => {
    for (const status of [500, 503, 429]) {
      expect(readCallerIdentity(answer("", { status }), "aws")).toMatchObject({
        ok: false,
        error: { code: "unavailable", retryAfterSeconds: 5 },
      });
    }
  });

  it("of this server gives the account, for a principal of any type", () => {
    const root = identity().replace(arn, `arn:aws:iam::${account}:root`);
    expect(outcome(readOwnAccount(answer(root)))).toBe(account);
    expect(outcome(readOwnAccount(answer("x")))).toMatch(/error parsing/);
  });
});

describe("AssumeRole", () => {
  const body = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
    <AssumedRoleUser><Arn>${arn}</Arn><AssumedRoleId>AROA:x</AssumedRoleId></AssumedRoleUser>
    <Credentials><AccessKeyId>ASIAX</AccessKeyId><SecretAccessKey>s/+&amp;</SecretAccessKey>
    <SessionToken>t==</SessionToken><Expiration>2026-11-21T05:00:00Z</Expiration></Credentials>
    </AssumeRoleResult></AssumeRoleResponse>`;

  it("gives credentials of a role in the account that was asked for", () => {
    expect(outcome(readAssumedCredentials(answer(body), account))).toEqual({
      accessKeyId: "ASIAX",
      secretAccessKey: "s/+&",
      sessionToken: "t==",
      expiresAt: Date.UTC(2026, 10, 21, 5),
    });
    expect(outcome(readAssumedCredentials(answer(body), "999999999999"))).toMatch(/another account/);
  });

  it.each(["AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration", "Credentials", "AssumedRoleUser"])(
    "is refused without %s",
    (name) => {
      expect(outcome(readAssumedCredentials(answer(body.replaceAll(name, "X")), account))).toMatch(/error parsing/);
    },
  );
});

describe("DescribeInstances", () => {
  const instance = `<item><instanceId>i-1</instanceId><imageId>ami-1</imageId>
    <instanceState><code>16</code><name>running</name></instanceState><subnetId>subnet-1</subnetId><vpcId>vpc-1</vpcId>
    <tagSet><item><key>Name</key><value>R&amp;D &#x2014; &lt;b&gt;</value></item><item><key>grove</key><value/></item></tagSet>
    <iamInstanceProfile><arn>arn:aws:iam::${account}:instance-profile/p/Web</arn><id>AIPA</id></iamInstanceProfile></item>`;
  const reservation = `<item><reservationId>r-1</reservationId><ownerId>${account}</ownerId><groupSet/>
    <instancesSet>${instance}</instancesSet></item>`;
  const body = `<?xml version="1.0" encoding="UTF-8"?>
    <DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>1</requestId>
    <reservationSet>${reservation}</reservationSet></DescribeInstancesResponse>`;
  const readAll = (text: string) => readInstances(answer(text, { contentType: "text/xml;charset=UTF-8" }), account);
  const read = (text: string) => {
    const instances = readAll(text);
    return outcome(instances.ok ? runningInstance(instances.value.get("i-1") ?? null) : instances);
  };

  it("describes a running instance with its tags", () => {
    expect(read(body)).toEqual({
      instanceId: "i-1",
      accountId: account,
      state: "running",
      imageId: "ami-1",
      subnetId: "subnet-1",
      vpcId: "vpc-1",
      instanceProfileArn: `arn:aws:iam::${account}:instance-profile/p/Web`,
      tags: new Map([
        ["Name", "R&D \u2014 <b>"],
        ["grove", ""],
      ]),
    });
  });

  it("describes several instances", () => {
    const second = reservation.replace("<instanceId>i-1", "<instanceId>i-2").replace("running", "stopped");
    const instances = readAll(body.replace(reservation, reservation + second));
    expect(instances.ok && [...instances.value].map(([id, { state }]) => [id, state])).toEqual([
      ["i-1", "running"],
      ["i-2", "stopped"],
    ]);
  });

  it("may lack what an instance can lack", () => {
    const bare = body
      .replace(/<subnetId>.*<\/vpcId>/, "")
      .replace(/<iamInstanceProfile>.*<\/iamInstanceProfile>/, "")
      .replace(/<tagSet>.*<\/tagSet>/, "");
    expect(read(bare)).toMatchObject({ subnetId: null, vpcId: null, instanceProfileArn: null, tags: new Map() });
  });

  it.each([
    ["no reservation", body.replace(reservation, ""), /no reservations/],
    ["no reservation set", body.replaceAll("reservationSet", "x"), /no reservations/],
    ["no instance", body.replace(instance, ""), /no reservations/],
    ["an instance twice", body.replace(instance, instance + instance), /error parsing EC2/],
    ["an instance in two reservations", body.replace(reservation, reservation + reservation), /error parsing EC2/],
    ["another instance", body.replace("<instanceId>i-1", "<instanceId>i-2"), /no reservations/],
    ["no instance ID", body.replaceAll("instanceId>", "x>"), /error parsing EC2/],
    ["another account", body.replace(account, "999999999999"), /another account/],
    ["no owner", body.replaceAll("ownerId", "x"), /another account/],
    ["a stopped instance", body.replace("running", "stopped"), /not in 'running' state/],
    ["no state", body.replaceAll("instanceState>", "x>"), /instance state .* is nil/],
    ["a tag twice", body.replace("<key>grove", "<key>Name"), /error parsing EC2/],
    ["a tag without a value", body.replace("<value/>", ""), /error parsing EC2/],
    ["another operation", body.replaceAll("DescribeInstancesResponse", "RunInstancesResponse"), /error parsing EC2/],
  ])("is refused with %s", (_, text, problem) => {
    expect(read(text)).toMatch(problem);
  });

  it("gives the code of a refusal", () => {
    const refusal = `<?xml version="1.0"?><Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code>
      <Message>x</Message></Error></Errors><RequestID>1</RequestID></Response>`;
    expect(errorCodeOf(answer(refusal, { status: 400 }))).toBe("InvalidInstanceID.NotFound");
    expect(outcome(readInstances(answer(refusal, { status: 400 }), account))).toBe(
      "received error code 400 from EC2: InvalidInstanceID.NotFound",
    );
  });
});

describe("IAM", () => {
  const wrap = (operation: string, inner: string) =>
    answer(
      `<${operation}Response xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><${operation}Result>${inner}</${operation}Result>
      <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></${operation}Response>`,
    );
  const role = (arnOfRole = `arn:aws:iam::${account}:role/p/Web`) =>
    `<Path>/p/</Path><RoleName>Web</RoleName><RoleId>AROAX</RoleId><Arn>${arnOfRole}</Arn>`;
  const user = `<User><UserName>Bob</UserName><UserId>AIDAX</UserId><Arn>arn:aws:iam::${account}:user/p/Bob</Arn></User>`;

  it("reads a user, also the one that asks", () => {
    const expected = { uniqueId: "AIDAX", arn: { friendlyName: "Bob", path: "p", accountId: account } };
    expect(outcome(readUser(wrap("GetUser", user), account))).toMatchObject(expected);
    expect(outcome(readUser(wrap("GetUser", user), null))).toMatchObject(expected);
    expect(outcome(readUser(wrap("GetUser", user), "999999999999"))).toMatch(/another account/);
    expect(outcome(readUser(wrap("GetUser", user.replace("user/p", "role/p")), account))).toMatch(/error parsing IAM/);
    expect(outcome(readUser(wrap("GetUser", user.replace("AIDAX", "")), account))).toMatch(/error parsing IAM/);
    expect(outcome(readUser(wrap("GetRole", user), account))).toMatch(/error parsing IAM/);
  });

  it("reads a role", () => {
    expect(outcome(readRole(wrap("GetRole", `<Role>${role()}</Role>`), account))).toMatchObject({
      uniqueId: "AROAX",
      arn: { canonicalArn: `arn:aws:iam::${account}:role/Web`, arn: `arn:aws:iam::${account}:role/p/Web` },
    });
    expect(outcome(readRole(wrap("GetRole", `<Role>${role()}</Role>`), "999999999999"))).toMatch(/another account/);
    expect(outcome(readRole(wrap("GetRole", `<Role>${role()}</Role><Role/>`), account))).toMatch(/error parsing IAM/);
  });

  it("reads the one role of an instance profile", () => {
    const profile = (members: string) =>
      wrap("GetInstanceProfile", `<InstanceProfile><Roles>${members}</Roles></InstanceProfile>`);
    const member = `<member>${role()}</member>`;
    expect(outcome(readInstanceProfileRole(profile(member), account))).toMatchObject({ uniqueId: "AROAX" });
    for (const members of ["", member + member, `<x>${role()}</x>`]) {
      expect(outcome(readInstanceProfileRole(profile(members), account))).toMatch(/invalid roles/);
    }
    const foreign = `<member>${role("arn:aws:iam::999999999999:role/Web")}</member>`;
    expect(outcome(readInstanceProfileRole(profile(foreign), account))).toMatch(/another account/);
  });

  it("reads a new access key", () => {
    const key = "<AccessKey><AccessKeyId>AKIAX</AccessKeyId><SecretAccessKey>s/+</SecretAccessKey></AccessKey>";
    expect(outcome(readCreatedAccessKey(wrap("CreateAccessKey", key)))).toEqual({
      accessKeyId: "AKIAX",
      secretAccessKey: "s/+",
    });
    expect(outcome(readCreatedAccessKey(wrap("CreateAccessKey", key.replace("s/+", ""))))).toMatch(/error parsing/);
    const limit = "<ErrorResponse><Error><Code>LimitExceeded</Code></Error></ErrorResponse>";
    expect(outcome(readCreatedAccessKey(answer(limit, { status: 409 })))).toBe(
      "received error code 409 from IAM: LimitExceeded",
    );
  });
});

describe("whatever is answered", () => {
  it("is read without an exception", () => {
    const piece = fc.constantFrom(
      "<",
      ">",
      "/",
      "&",
      "<!",
      "<?xml ?>",
      "<a>",
      "</a>",
      "<Arn>",
      arn,
      '"',
      "&#0;",
      "&#x110000;",
      "<a b='c'>",
      "\u0000",
    );
    const body = fc.oneof(
      fc.string(),
      fc.array(piece).map((pieces) => pieces.join("")),
      fc
        .tuple(fc.nat({ max: identity().length }), piece)
        .map(([at, text]) => identity().slice(0, at) + text + identity().slice(at)),
    );
    fc.assert(
      fc.property(body, fc.constantFrom(200, 400, 500), (text, status) => {
        const sample = answer(text, { status });
        expect(typeof readCallerIdentity(sample, "aws").ok).toBe("boolean");
        expect(readInstances(sample, account).ok).toBe(false);
        expect(readRole(sample, account).ok).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });
});
