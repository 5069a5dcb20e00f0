import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { DocumentSigner, documentOf, signCaller } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { xml } from "../../../support/fake-cloud/request.ts";
import type { Instance, Key } from "../../../support/fake-cloud/world.ts";
import { call, initialized } from "../../../support/service.ts";

/** Whatever is sent to the login endpoint, and whatever the cloud answers: a refusal at worst, and soon. */

/** Of each kind of damage; raise it for a night. */
const RUNS = 100;

const cloud = new FakeCloud();
const signer = new DocumentSigner();
let mount: CloudMount;
let instance: Instance;
let key: Key;
let caller: Record<string, unknown>;

beforeAll(async () => {
  const root = await initialized();
  replaceInternet(cloud);
  mount = await mountCloud(root, "cloud", cloud, signer);
  await mount.write("config/client", { max_retries: 0 });
  instance = cloud.world.addInstance(HOME, "eu-west-1");
  const role = cloud.world.addRole(HOME, "Worker", { path: "/jobs/" });
  key = cloud.world.addSession(role, "job", Date.now() + 3_600_000);
  caller = await signCaller(key);
  await mount.write("role/web", { auth_type: "vm", bound_account_id: HOME });
  await mount.write("role/worker", { bound_iam_principal_arn: `arn:aws:iam::${HOME}:role/jobs/*` });
});

/** Sends a login and fails for an answer that is no verdict. Returns the status. */
async function verdict(fields: Record<string, unknown>): Promise<number> {
  const { status, body } = await call("POST", `auth/${mount.path}/login`, { body: fields });
  if (![200, 400, 403, 503].includes(status)) throw new Error(`status ${status}`);
  if (status !== 200 && typeof body.errors[0] !== "string") throw new Error("a refusal without a text");
  return status;
}

const property = <T>(arbitrary: fc.Arbitrary<T>, check: (value: T) => Promise<unknown>) =>
  fc.assert(
    fc.asyncProperty(arbitrary, async (value) => void (await check(value))),
    { numRuns: RUNS, endOnFailure: true },
  );

/** A text with a part of it replaced, removed or doubled. */
const damaged = (text: () => string, pieces: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat({ max: 12 }), pieces)
    .map(([where, length, piece]) => (whole: string) => {
      const at = Math.floor(where * whole.length);
      return whole.slice(0, at) + piece + whole.slice(at + length);
    })
    .map((damage) => ({ toString: () => damage(text()) }));

const anyBytes = fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString("latin1"));

describe("the login endpoint", () => {
  it("judges any fields", async () => {
    const names = [
      ...["role", "identity", "signature", "pkcs7", "nonce", "iam_http_request_method"],
      ...["iam_request_url", "iam_request_body", "iam_request_headers"],
    ];
    const value = fc.oneof(
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.base64String({ maxLength: 80 }),
      fc.constantFrom("POST", "GET", "web", "worker", "", "e30=", "aHR0cHM6Ly9zdHMuYW1hem9uYXdzLmNvbS8="),
      fc.jsonValue({ maxDepth: 3 }),
    );
    await property(fc.dictionary(fc.constantFrom(...names), value), verdict);
  });

  it("judges any damage to a CMS message", async () => {
    const genuine = () => Buffer.from(signer.sign(documentOf(instance)).pkcs7, "base64").toString("latin1");
    const whole = genuine();
    await property(
      damaged(() => whole, anyBytes),
      async (bytes) => {
        await verdict({ role: "web", pkcs7: Buffer.from(String(bytes), "latin1").toString("base64") });
      },
    );
  });

  it("judges any signed document", async () => {
    const text = () => JSON.stringify(documentOf(instance));
    const piece = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constantFrom('"', "{", "}", "[", "1e999", "\\u0000", "null"),
    );
    await property(damaged(text, piece), async (document) => {
      const { pkcs7, identity, signature } = signer.signText(String(document));
      await verdict({ role: "web", pkcs7, nonce: "n" });
      await verdict({ role: "web", identity, signature, nonce: "n" });
    });
    await property(fc.jsonValue({ maxDepth: 4 }), (value) =>
      verdict({ role: "web", pkcs7: signer.signText(JSON.stringify(value)).pkcs7 }),
    );
  });

  it("judges any headers, URL and body of a signed request", async () => {
    const decoded = (field: string) => Buffer.from(String(caller[field]), "base64").toString();
    for (const field of ["iam_request_headers", "iam_request_url", "iam_request_body"]) {
      const piece = fc.oneof(
        fc.string({ unit: "binary", maxLength: 10 }),
        fc.constantFrom('"', ":", ",", "\r\n", "%00", "%", "&", "=", "//", "@", "host", "X-Amz-Target"),
      );
      await property(
        damaged(() => decoded(field), piece),
        (text) => verdict({ ...caller, role: "worker", [field]: Buffer.from(String(text)).toString("base64") }),
      );
    }
    const name = fc.constantFrom("authorization", "x-amz-date", "host", "content-type", "x-amz-foo", "a b", "");
    const value = fc.oneof(fc.string(), fc.integer(), fc.array(fc.string(), { maxLength: 3 }), fc.constant(null));
    await property(fc.dictionary(name, value), (headers) =>
      verdict({ ...caller, role: "worker", iam_request_headers: headers }),
    );
  });

  it("judges any answer of the cloud", async () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary", maxLength: 10 }),
      fc.constantFrom(
        "<",
        ">",
        "</",
        "&",
        "&lt;",
        "<!--",
        "<![CDATA[",
        "]]>",
        "<?x?>",
        "<!DOCTYPE a>",
        "&#x0;",
        "<item/>",
      ),
    );
    const identity = `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:sts::${HOME}:assumed-role/Worker/job</Arn>
      <UserId>AROA:job</UserId><Account>${HOME}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`;
    const description = `<DescribeInstancesResponse><reservationSet><item><ownerId>${HOME}</ownerId><instancesSet><item>
      <instanceId>${instance.id}</instanceId><instanceState><name>running</name></instanceState><tagSet><item><key>a</key>
      <value>b</value></item></tagSet></item></instancesSet></item></reservationSet></DescribeInstancesResponse>`;
    const status = fc.constantFrom(200, 200, 200, 400, 403, 500);
    await property(
      fc.tuple(
        damaged(() => identity, piece),
        status,
      ),
      async ([body, code]) => {
        cloud.heal();
        cloud.fail("sts", { kind: "reply", reply: xml(code, String(body)) });
        await verdict({ ...caller, role: "worker" });
      },
    );
    cloud.heal();
    await property(
      fc.tuple(
        damaged(() => description, piece),
        status,
      ),
      async ([body, code]) => {
        cloud.heal();
        cloud.fail("ec2", { kind: "reply", reply: xml(code, String(body)) });
        await verdict({ role: "web", pkcs7: signer.sign(documentOf(instance)).pkcs7, nonce: "n" });
      },
    );
    cloud.heal();
  });

  it("judges any ARN that STS states", async () => {
    const part = fc.oneof(
      fc.constantFrom("arn", "aws", "aws-cn", "iam", "sts", "", HOME, "assumed-role/Worker/job", "user/x", "root", "*"),
      fc.string({ maxLength: 12 }),
    );
    const arn = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(":"));
    const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    await property(fc.tuple(arn, fc.string({ maxLength: 20 })), async ([text, userId]) => {
      const body = `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>${escaped(text)}</Arn><UserId>${escaped(userId)}</UserId>
        <Account>${HOME}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`;
      cloud.heal();
      cloud.fail("sts", { kind: "reply", reply: xml(200, body) });
      await verdict(caller);
    });
    cloud.heal();
  });

  it("still lets the right ones in", async () => {
    expect(await verdict({ ...caller, role: "worker" })).toBe(200);
    const fresh = cloud.world.addInstance(HOME, "eu-west-1");
    expect(await verdict({ role: "web", pkcs7: signer.sign(documentOf(fresh)).pkcs7, nonce: "n" })).toBe(200);
  });
});
