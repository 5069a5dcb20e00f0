import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CloudLookups } from "../../../../src/methods/aws/clients/batched-lookups.ts";
import { CloudAuth } from "../../../../src/methods/aws/mount/cloud-auth.ts";
import { atCalls, failing } from "../../../support/calls.ts";
import { DocumentSigner } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud, OTHER, refusalOf } from "../../../support/cloud-mount.ts";
import { FakeCloud, type Fault } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { ec2Refusal, refusal } from "../../../support/fake-cloud/request.ts";
import { type Key, roleArn, userArn } from "../../../support/fake-cloud/world.ts";
import { type Answer, call, initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
const signer = new DocumentSigner();
let root: string;
let mount: CloudMount;
let key: Key;

const THROTTLED: Fault = { kind: "reply", reply: ec2Refusal(503, "RequestLimitExceeded") };

beforeAll(async () => {
  root = await initialized();
  replaceInternet(cloud);
  mount = await mountCloud(root, "cloud", cloud, signer);
  await mount.write("role/any", { auth_type: "vm", bound_vpc_id: "vpc-1" });
  const alice = cloud.world.addUser(HOME, "Alice");
  key = cloud.world.addKey(alice);
  await mount.write("role/alice", { bound_iam_principal_arn: userArn(alice) });
});

beforeEach(() => {
  cloud.heal();
  cloud.calls.length = 0;
  cloud.beforeAnswer = async () => {};
});

const addInstances = (count: number, account = HOME) =>
  Array.from({ length: count }, () => cloud.world.addInstance(account, "eu-west-1"));
const loginAll = (count: number, account = HOME) =>
  Promise.all(addInstances(count, account).map((instance) => mount.loginInstance(instance, { role: "any" })));
const login = () => mount.loginInstance(addInstances(1)[0] ?? cloud.world.addInstance(HOME, ""), { role: "any" });

function expectComeBackLater(answer: Answer): void {
  expect(answer.status).toBe(503);
  expect(answer.headers.get("Retry-After")).toBe("5");
}

/** Holds the first look-up back until so many logins wait for one, as a cloud does that takes its time to answer. */
function holdFirstCallUntilAsked(count: number): void {
  const gate = Promise.withResolvers<void>();
  const asked = atCalls(CloudLookups, "ask", ({ proceed }) => {
    if (asked.calls.length === count) gate.resolve();
    return proceed();
  });
  cloud.beforeAnswer = ({ action }) => (action === "DescribeInstances" ? gate.promise : Promise.resolve());
}

describe("many logins at once", () => {
  it("of one account share calls", async () => {
    holdFirstCallUntilAsked(20);
    const answers = await loginAll(20);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(cloud.callsOf("DescribeInstances")).toHaveLength(2);
    const asked = cloud.callsOf("DescribeInstances").flatMap(({ form }) => [...form.values()]);
    expect(asked.filter((value) => value.startsWith("i-"))).toHaveLength(20);
  });

  it("of one instance share a call, and each gets its own verdict", async () => {
    const [instance] = addInstances(1);
    if (!instance) throw new Error("an instance was made");
    holdFirstCallUntilAsked(10);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => mount.loginInstance(instance, { role: "any", nonce: "same" })),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(cloud.callsOf("DescribeInstances")).toHaveLength(1);
  });

  it("of a satellite account assume its role few times", async () => {
    const gate = cloud.world.addRole(OTHER, "Gate", { trusts: [HOME] });
    await mount.write(`config/sts/${OTHER}`, { sts_role: roleArn(gate) });
    const answers = await loginAll(20, OTHER);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(cloud.callsOf("AssumeRole")).toHaveLength(1);
  });

  it("are not spoilt by instances that do not exist", async () => {
    const gone = addInstances(5);
    for (const instance of gone) cloud.world.instances.splice(cloud.world.instances.indexOf(instance), 1);
    const all = [...addInstances(5), ...gone];
    const answers = await Promise.all(all.map((instance) => mount.loginInstance(instance, { role: "any" })));
    expect(answers.map(({ status }) => status)).toEqual([...Array(5).fill(200), ...Array(5).fill(400)]);
  });

  it.each<[string, Fault]>([
    ["throttles", THROTTLED],
    ["fails", { kind: "reply", reply: ec2Refusal(500, "InternalError") }],
    ["is down", { kind: "unreachable" }],
  ])("while the cloud %s make few calls, and all are told to come back", async (_, fault) => {
    holdFirstCallUntilAsked(20);
    cloud.fail("ec2", fault);
    const answers = await loginAll(20);
    expect(cloud.callsOf("DescribeInstances")).toHaveLength(4);
    for (const answer of answers) expectComeBackLater(answer);
    cloud.heal();
    expect((await loginAll(20)).map(({ status }) => status)).toEqual(Array(20).fill(200));
  });
});

describe("a failing cloud", () => {
  it("is asked again as often as the mount says", async () => {
    cloud.fail("ec2", THROTTLED, { times: 3 });
    expect((await login()).status).toBe(200);
    expect(cloud.callsOf("DescribeInstances")).toHaveLength(4);
    cloud.calls.length = 0;
    await mount.write("config/client", { max_retries: 0 });
    cloud.fail("ec2", THROTTLED, { times: 1 });
    expect((await login()).status).toBe(503);
    expect(cloud.callsOf("DescribeInstances")).toHaveLength(1);
    await mount.write("config/client", { max_retries: -1 });
  });

  it.each<[string, Fault, number, RegExp]>([
    ["is throttled with a 400", { kind: "reply", reply: ec2Refusal(400, "Throttling") }, 503, /Throttling/],
    ["fails", { kind: "reply", reply: ec2Refusal(500, "InternalError") }, 503, /received error code 500 from EC2/],
    ["is not there", { kind: "unreachable" }, 503, /EC2 can't be reached/],
    ["refuses", { kind: "reply", reply: ec2Refusal(403, "UnauthorizedOperation") }, 400, /UnauthorizedOperation/],
    [
      "redirects",
      { kind: "reply", reply: { status: 302, headers: { location: "https://evil.example/" }, body: "" } },
      400,
      /received error code 302 from EC2/,
    ],
    [
      "answers a page",
      { kind: "reply", reply: { status: 200, headers: { "content-type": "text/html" }, body: "<html/>" } },
      400,
      /not of the type text\/xml/,
    ],
    [
      "answers nonsense",
      { kind: "reply", reply: { status: 200, headers: { "content-type": "text/xml" }, body: "<a><b></a>" } },
      400,
      /error parsing EC2 response/,
    ],
    [
      "answers without an end",
      { kind: "reply", reply: { status: 200, headers: { "content-type": "text/xml" }, body: "x".repeat(3_000_000) } },
      400,
      /too long/,
    ],
  ])("that %s gives no 500, and logins work again afterwards", async (_, fault, status, message) => {
    cloud.fail("ec2", fault);
    const answer = await login();
    expect(answer.status).toBe(status);
    if (status === 503) expectComeBackLater(answer);
    expect(refusalOf(answer)[1]).toMatch(message);
    cloud.heal();
    expect((await login()).status).toBe(200);
  });

  it.each<[string, Fault, number, RegExp]>([
    ["is not there", { kind: "unreachable" }, 503, /making upstream request: STS can't be reached/],
    ["fails", { kind: "reply", reply: refusal(503, "ServiceUnavailable") }, 503, /ServiceUnavailable/],
    [
      "redirects",
      { kind: "reply", reply: { status: 302, headers: { location: "https://evil.example/" }, body: "" } },
      400,
      /received error code 302 from STS/,
    ],
  ])("that %s gives no 500 to a signed request either", async (_, fault, status, message) => {
    cloud.fail("sts", fault);
    const answer = await mount.loginCaller(key, { role: "alice" });
    expect(answer.status).toBe(status);
    if (status === 503) expectComeBackLater(answer);
    expect(refusalOf(answer)[1]).toMatch(message);
    cloud.heal();
    expect((await mount.loginCaller(key, { role: "alice" })).status).toBe(200);
  });

  it("that is slow is waited for for a while", async () => {
    await mount.write("config/client", { max_retries: 0 });
    cloud.fail("ec2", { kind: "stall_body" });
    const answer = await login();
    expectComeBackLater(answer);
    expect(refusalOf(answer)[1]).toMatch(/EC2 does not answer in time/);
    cloud.heal();
    expect((await login()).status).toBe(200);
    await mount.write("config/client", { max_retries: -1 });
  });

  it("does not end the renewal of a token for good", async () => {
    const { auth } = (await login()).body;
    cloud.fail("ec2", { kind: "unreachable" });
    expectComeBackLater(await mount.renew(auth.client_token));
    cloud.heal();
    expect((await mount.renew(auth.client_token)).status).toBe(200);
  });

  it("does not lose the nonce of an instance", async () => {
    const [instance] = addInstances(1);
    if (!instance) throw new Error("an instance was made");
    cloud.fail("ec2", { kind: "unreachable" });
    expect((await mount.loginInstance(instance, { role: "any" })).status).toBe(503);
    cloud.heal();
    expect((await mount.loginInstance(instance, { role: "any" })).status).toBe(200);
  });
});

describe("a mount's object that does not answer", () => {
  afterEach(() => void vi.useRealTimers());

  const health = async () => (await call("GET", "sys/health")).body;
  const linesOf = (type: string, spy: { mock: { calls: unknown[][] } }) =>
    spy.mock.calls.map(([line]) => String(line)).filter((line) => line.includes(`"${type}"`));

  it("is not noticed by logins and renewals for POLICY_GRACE_SECONDS; sys/health and the log tell", async () => {
    const failures = vi.spyOn(console, "error").mockImplementation(() => {});
    const told = vi.spyOn(console, "log").mockImplementation(() => {});
    const [instance] = addInstances(1);
    if (!instance) throw new Error("an instance was made");
    const loginAgain = () => mount.loginInstance(instance, { role: "any", nonce: "same" });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    // Copies are as old as the last change, so that they all end at the same time.
    await mount.write("role/any", { token_ttl: "1h" });
    const start = Date.now();
    const token = (await loginAgain()).body.auth.client_token;
    const away = failing(CloudAuth, "readForLogin", "away");
    for (const seconds of [40, 61, 63, 119]) {
      vi.setSystemTime(start + seconds * 1_000);
      expect((await loginAgain()).status).toBe(200);
      expect((await mount.renew(token)).status).toBe(200);
    }
    expect(await health()).toMatchObject({ grove_stale_seconds: 119 });
    const [line = ""] = linesOf("cloud_mount_unavailable", failures);
    expect(JSON.parse(line)).toMatchObject({ mount: "cloud/", error: "Error: away", copy_age_seconds: 61 });

    vi.setSystemTime(start + 121_000);
    expect((await loginAgain()).status).toBe(500);
    expect(await health()).not.toHaveProperty("grove_stale_seconds");

    away.end();
    expect((await loginAgain()).status).toBe(200);
    expect(linesOf("cloud_mount_available", told)).toHaveLength(1);
  });

  it("and is slow rather than away, is waited for once", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    await login();
    const late = Promise.withResolvers<never>();
    const asked = atCalls(CloudAuth, "readForLogin", () => late.promise);
    vi.setSystemTime(Date.now() + 61_000);
    expect((await login()).status).toBe(200);
    vi.setSystemTime(Date.now() + 100);
    expect((await login()).status).toBe(200);
    expect(asked.calls).toHaveLength(1);
    late.reject(new Error("it was reset"));
  });
});
