import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CLOUD_ROLE_FIELDS } from "../../../../src/methods/aws/rules/role.ts";
import aws from "../../../conformance/aws.json";
import { type cloudAt, enableCloud } from "../../../support/cloud.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { initialized } from "../../../support/service.ts";

const PEM = atob(aws.find(({ name }) => name === "certificate write")?.body?.aws_public_cert ?? "");

let at: ReturnType<typeof cloudAt>;
let tag: string;

beforeAll(async () => {
  const root = await initialized();
  // Keys that pass for good ones reach a cloud that knows none of them.
  replaceInternet(new FakeCloud());
  at = await enableCloud(root, "fuzz", "cloud");
  await at.post("role/tagged", { auth_type: "vm", bound_vpc_id: "v", role_tag: "cap", token_policies: "a,b" });
  tag = String((await at.post("role/tagged/tag", { policies: "a", max_ttl: 60 })).body.data.tag_value);
});

/** Values of every kind, most of them nearly right. */
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.string(),
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.array(fc.oneof(fc.string(), fc.integer(), fc.constantFrom("*", "arn:aws:iam::123456789012:role/*"))),
  fc.constantFrom(
    ...["vm", "iam", "vm_instance", "us-east-1", "true", "1h", "-1s", "1e9", "default-batch", "root", "0", ""],
    ...["10.0.0.0/8", "arn:aws:iam::123456789012:role/a", "__proto__", "constructor", "\u0000", "😀".repeat(100)],
  ),
  fc.constantFrom(-1, 0, 1, 2 ** 31, 1e308, 0.5, true, false, null),
);

/** `text` with some characters changed, left out or put in. */
const damaged = (text: string) =>
  fc
    .array(fc.tuple(fc.nat(text.length), fc.nat(3), fc.string({ maxLength: 4 })), { minLength: 1, maxLength: 4 })
    .map((edits) => edits.reduce((all, [place, cut, put]) => all.slice(0, place) + put + all.slice(place + cut), text));

/** Of each kind; raise it for a night. */
const RUNS = 120;

// Thousands of audit lines that nobody reads would be a third of the time.
beforeEach(() => {
  vi.spyOn(console, "log").mockReturnValue();
});

describe("no input makes a 500", () => {
  it("body of a role", async () => {
    const field = fc.constantFrom(...Object.keys(CLOUD_ROLE_FIELDS.shape), "hmac_key", "__proto__");
    await fc.assert(
      fc.asyncProperty(fc.dictionary(field, value, { maxKeys: 8 }), async (body) => {
        const answer = await at.post("role/fuzzed", body);
        expect([200, 204, 400]).toContain(answer.status);
        if (answer.status === 400) return;
        expect((await at.get("role/fuzzed")).status).toBe(200);
        await at.remove("role/fuzzed");
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });

  it("body of a role that exists", async () => {
    await at.post("role/kept", { auth_type: "vm", bound_vpc_id: "v" });
    const field = fc.constantFrom(...Object.keys(CLOUD_ROLE_FIELDS.shape));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(field, value, { maxKeys: 3 }), async (body) => {
        expect([200, 204, 400]).toContain((await at.post("role/kept", body)).status);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    const kept = (await at.get("role/kept")).body.data;
    expect(kept.auth_type).toBe("vm");
  });

  it("that is sent as a certificate", async () => {
    const text = fc.oneof(
      damaged(PEM),
      damaged(PEM).map((pem) => Buffer.from(pem).toString("base64")),
      damaged(PEM.replace(/-----.*-----|\n/g, "")),
      fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString("base64")),
      fc.string({ maxLength: 20_000 }),
      value,
    );
    await fc.assert(
      fc.asyncProperty(text, fc.oneof(fc.constant("pkcs7"), value), async (cloud_public_cert, type) => {
        const answer = await at.post("config/certificate/fuzzed", { cloud_public_cert, type });
        expect([204, 400]).toContain(answer.status);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });

  it("role tag to deny, read or free", async () => {
    const text = fc.oneof(
      damaged(tag),
      damaged(tag).map((each) => Buffer.from(each).toString("base64")),
      damaged(Buffer.from(tag).toString("base64")),
      fc.string({ minLength: 1 }),
      fc.string({ unit: "binary", minLength: 1, maxLength: 300 }),
    );
    const other = text.filter((each) => each !== tag && Buffer.from(each, "base64").toString() !== tag);
    await fc.assert(
      fc.asyncProperty(other, async (each) => {
        const path = `roletag-denylist/${encodeURIComponent(each)}`;
        // A damaged tag is never taken for another one.
        expect([400, 404, 405]).toContain((await at.post(path)).status);
        expect([200, 400, 404]).toContain((await at.get(path)).status);
        expect([204, 400, 404]).toContain((await at.remove(path)).status);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    expect((await at.list("roletag-denylist")).status).toBe(404);
  });

  it("fields of a role tag", async () => {
    const field = fc.constantFrom(
      ...["policies", "max_ttl", "instance_id", "allow_instance_migration", "disallow_reauthentication", "role"],
    );
    await fc.assert(
      fc.asyncProperty(fc.dictionary(field, value), async (body) => {
        const answer = await at.post("role/tagged/tag", body);
        expect([200, 400]).toContain(answer.status);
        if (answer.status === 400) return;
        // Whatever was made can be denied.
        const path = `roletag-denylist/${encodeURIComponent(Buffer.from(String(answer.body.data.tag_value)).toString("base64"))}`;
        expect((await at.post(path)).status).toBe(204);
        expect((await at.remove(path)).status).toBe(204);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });

  it("that is sent as a configuration", async () => {
    const paths = fc.constantFrom(
      ...["config/client", "config/identity", "config/sts/1", "config/tidy/roletag-denylist", "tidy/roletag-denylist"],
      ...["config/rotate-root"],
    );
    const field = fc.constantFrom(
      ...["access_key", "secret_key", "endpoint", "iam_endpoint", "sts_endpoint", "sts_region", "max_retries"],
      ...["use_sts_region_from_client", "iam_server_id_header_value", "allowed_sts_header_values", "iam_alias"],
      ...["vm_alias", "iam_metadata", "vm_metadata", "sts_role", "safety_buffer", "disable_periodic_tidy"],
    );
    await fc.assert(
      fc.asyncProperty(paths, fc.dictionary(field, value, { maxKeys: 4 }), async (path, body) => {
        expect([200, 202, 204, 400]).toContain((await at.post(path, body)).status);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    expect((await at.get("config/identity")).status).toBe(200);
    expect([200, 404]).toContain((await at.get("config/client")).status);
  });
});
