import { describe, expect, it } from "vitest";
import { INSTALLATION_KEY, joinInstallation } from "../../../../scripts/serve/cluster/installation-record.ts";
import { PLACE, sealKey, secretsOf, startBucket } from "./support.ts";

const RECORD = `${PLACE.prefix}/grove/${INSTALLATION_KEY}`;

const refused = (reason: string) => ({
  ok: false,
  error: { message: expect.stringContaining(reason), passes: false },
});

describe("the installation in a bucket", () => {
  it("is made by the first node and the same for all", async () => {
    const { bucket, emulator } = await startBucket();
    const secrets = secretsOf();
    const first = await joinInstallation(bucket, secrets);
    expect(first).toEqual({ ok: true, value: expect.stringMatching(/^[0-9a-f]{32}$/) });
    const writes = emulator.requests.filter(({ method }) => method === "PUT").length;
    expect(await joinInstallation(bucket, secrets)).toEqual(first);
    expect(emulator.requests.filter(({ method }) => method === "PUT")).toHaveLength(writes);
  });

  it("is one when several nodes make it at once", async () => {
    const { bucket } = await startBucket();
    const secrets = secretsOf();
    const joined = await Promise.all(Array.from({ length: 8 }, () => joinInstallation(bucket, secrets)));
    expect(new Set(joined.map((one) => one.ok && one.value))).toHaveLength(1);
  });

  it("shows neither its id nor a key", async () => {
    const { bucket, emulator } = await startBucket();
    const secrets = secretsOf();
    const joined = await joinInstallation(bucket, secrets);
    const text = emulator.objects.get(RECORD)?.content.toString() ?? "";
    expect(text).not.toBe("");
    for (const secret of [joined.ok ? joined.value : "", secrets.clusterKey, secrets.sealKey.slice(2)]) {
      expect(text).not.toContain(secret);
    }
  });

  it("refuses a node with another seal key, of the same version or of another", async () => {
    const { bucket } = await startBucket();
    await joinInstallation(bucket, secretsOf());
    expect(await joinInstallation(bucket, secretsOf())).toEqual(refused("GROVE_SEAL_KEY"));
    expect(await joinInstallation(bucket, secretsOf({ sealKey: sealKey(2) }))).toEqual(refused("GROVE_SEAL_KEY"));
  });

  it("refuses a node with another cluster key", async () => {
    const { bucket } = await startBucket();
    const secrets = secretsOf();
    await joinInstallation(bucket, secrets);
    const other = { ...secrets, clusterKey: "another-secret-of-more-than-32-bytes" };
    expect(await joinInstallation(bucket, other)).toEqual(refused("GROVE_CLUSTER_KEY"));
    const wrong = { ...other, previousClusterKey: "yet-another-secret-of-more-than-32-bytes" };
    expect(await joinInstallation(bucket, wrong)).toEqual(refused("GROVE_CLUSTER_KEY"));
  });

  it("takes a new cluster key from a node that knows the old one, and refuses the old one from then on", async () => {
    const { bucket } = await startBucket();
    const secrets = secretsOf();
    const first = await joinInstallation(bucket, secrets);
    const clusterKey = "another-secret-of-more-than-32-bytes";
    const rotated = { ...secrets, clusterKey, previousClusterKey: secrets.clusterKey };
    expect(await joinInstallation(bucket, rotated)).toEqual(first);
    expect(await joinInstallation(bucket, { ...secrets, clusterKey })).toEqual(first);
    expect(await joinInstallation(bucket, secrets)).toEqual(refused("GROVE_CLUSTER_KEY"));
  });

  it("is sealed again with a new seal key, which then is enough", async () => {
    const { bucket } = await startBucket();
    const secrets = secretsOf();
    const first = await joinInstallation(bucket, secrets);
    const rotated = { ...secrets, sealKey: sealKey(2), previousSealKey: secrets.sealKey };
    expect(await joinInstallation(bucket, rotated)).toEqual(first);
    expect(await joinInstallation(bucket, { ...rotated, previousSealKey: undefined })).toEqual(first);
    expect(await joinInstallation(bucket, secrets)).toEqual(refused("version 2"));
  });

  it("lets in the releases beside the newest that it has had", async () => {
    const { bucket } = await startBucket();
    const secrets = secretsOf({ release: "1.4.0" });
    await joinInstallation(bucket, secrets);
    const join = (release: string) => joinInstallation(bucket, { ...secrets, release });
    expect(await join("1.3.9")).toMatchObject({ ok: true });
    expect(await join("1.6.0")).toEqual(refused("release 1.6.0"));
    expect(await join("2.4.0")).toEqual(refused("release 2.4.0"));
    expect(await join("1.5.0")).toMatchObject({ ok: true });
    expect(await join("1.4.0")).toMatchObject({ ok: true });
    expect(await join("1.3.9")).toEqual(refused("1.5.0"));
  });

  it.each([
    // Not the last character: some of its bits may say nothing.
    ["changed", (text: string) => text.replace(/.(?=.{8}\n$)/, (one) => (one === "A" ? "B" : "A"))],
    ["cut short", (text: string) => `${text.slice(0, 40)}\n`],
    ["replaced", () => "{}"],
    ["of a later format", (text: string) => text.replace("grove-cluster-1", "grove-cluster-2")],
  ])("refuses every node when the record was %s", async (_, change) => {
    const { bucket, emulator } = await startBucket();
    const secrets = secretsOf();
    await joinInstallation(bucket, secrets);
    const stored = emulator.objects.get(RECORD);
    if (!stored) throw new Error("there is no record");
    emulator.objects.set(RECORD, { ...stored, content: Buffer.from(change(stored.content.toString())) });
    expect(await joinInstallation(bucket, secrets)).toMatchObject({ ok: false, error: { passes: false } });
  });

  it("is not made again when its record is gone and its objects are there", async () => {
    const { bucket, emulator } = await startBucket();
    const secrets = secretsOf();
    await joinInstallation(bucket, secrets);
    const [record] = emulator.objects.values();
    if (!record) throw new Error("there is no record");
    emulator.objects.set(`${PLACE.prefix}/workerd/v1/nodes/a.json`, record);
    emulator.objects.delete(RECORD);
    expect(await joinInstallation(bucket, secrets)).toEqual(
      refused("s3://grove/test/one/grove/installation, which names it, is gone"),
    );
  });

  it("is not made while the bucket does not answer", async () => {
    const { bucket, emulator } = await startBucket();
    emulator.fault = () => ({ status: 500 });
    expect(await joinInstallation(bucket, secretsOf())).toMatchObject({ ok: false, error: { passes: true } });
  });
});
