import { describe, expect, it } from "vitest";
import { probeBucket } from "../../../../scripts/serve/cluster/bucket-probe.ts";
import type { BucketFault, BucketQuirks } from "../../../support/bucket.ts";
import { clientOf, startBucket } from "./support.ts";

describe("the probe of a bucket", () => {
  it("accepts one that keeps its promises, and leaves nothing behind", async () => {
    const { emulator, bucket } = await startBucket();
    expect(await probeBucket(bucket)).toEqual({ ok: true, value: undefined });
    expect([...emulator.objects.keys()]).toEqual([]);
  });

  it.each<[string, BucketQuirks]>([
    ["conditional create", { ignoresIfNoneMatch: true }],
    ["conditional replace", { ignoresIfMatch: true }],
    ["read after write", { staleReads: true }],
    ["list after write", { staleLists: true }],
    ["clock", { clockOffsetMs: 5_000 }],
    ["clock", { clockOffsetMs: -5_000 }],
  ])("names the test %s for a store with %o", async (test, quirks) => {
    const { emulator, bucket } = await startBucket();
    emulator.quirks = quirks;
    expect(await probeBucket(bucket)).toEqual({
      ok: false,
      error: { message: expect.stringContaining(`fails the test "${test}"`), passes: false },
    });
  });

  it("accepts a clock within the bound", async () => {
    const { emulator, bucket } = await startBucket();
    emulator.quirks = { clockOffsetMs: 1_500 };
    expect((await probeBucket(bucket)).ok).toBe(true);
  });

  it.each<[string, BucketFault, boolean]>([
    ["that is down may come back", "cut", true],
    ["that is overloaded may recover", { status: 503 }, true],
    ["that refuses the keys does not change its mind", { status: 403 }, false],
  ])("a bucket %s", async (_, fault, passes) => {
    const { emulator, bucket } = await startBucket();
    emulator.fault = () => fault;
    expect(await probeBucket(bucket)).toMatchObject({ ok: false, error: { passes } });
  });

  it("names the test delete, which workerd needs, when the keys may not delete", async () => {
    const { emulator, bucket } = await startBucket();
    emulator.fault = ({ method }) => (method === "DELETE" ? { status: 403 } : undefined);
    expect(await probeBucket(bucket)).toEqual({
      ok: false,
      error: { message: expect.stringContaining('fails the test "delete": the bucket answered 403'), passes: false },
    });
  });

  it("names the file of credentials that is missing, and does not blame the bucket", async () => {
    const { settings, environment } = await startBucket();
    const file = "/nowhere/credentials.env";
    const message = `AWS_CREDENTIALS_FILE cannot be read: ${file} (ENOENT)`;
    const probed = await probeBucket(clientOf(settings, { ...environment, AWS_CREDENTIALS_FILE: file }));
    expect(probed).toMatchObject({ ok: false, error: { message, passes: false } });
  });

  it("says what the store said, and no secret", async () => {
    const { emulator, settings, environment } = await startBucket();
    const elsewhere = clientOf({ ...settings, bucket: "another" }, environment);
    const probed = await probeBucket(elsewhere);
    expect(probed).toMatchObject({ ok: false, error: { message: expect.stringContaining("404 (NoSuchBucket)") } });
    expect(JSON.stringify(probed)).not.toContain(emulator.environment.AWS_SECRET_ACCESS_KEY);
  });
});
