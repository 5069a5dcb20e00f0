import { beforeAll, describe, expect, it } from "vitest";
import { toBase64 } from "../../../src/crypto/bytes.ts";
import { importKeys, type Keys, newKeyRing } from "../../../src/crypto/key-ring.ts";
import { sealText } from "../../../src/crypto/sealed-data.ts";
import { cloudSecretsIn, openCloudSecret, sealCloudSecret } from "../../../src/methods/aws/cloud-secrets.ts";
import { clientSecretIn, openClientSecret, sealClientSecret } from "../../../src/methods/jwt/oidc/client-secret.ts";
import { openReviewer, sealedReviewerIn, sealReviewer } from "../../../src/methods/kubernetes/reviewer-jwt.ts";

const MOUNT = { uuid: "0c5b2a9d-e1f0-83a4-a1b2-000000000001" };
const OTHER = { uuid: "0c5b2a9d-e1f0-83a4-a1b2-000000000002" };
const CLIENT = { discoveryUrl: "https://login.example.com", clientId: "grove" };
const HOST = "https://10.0.0.1:6443";

let keys: Keys;

beforeAll(async () => {
  keys = await importKeys(newKeyRing(0));
});

describe("a secret that a mount has stored", () => {
  // Word for word: what is stored opens only with them.
  it.each([
    [
      "cloud 0c5b2a9d-e1f0-83a4-a1b2-000000000001 secret key",
      (text: string) => openCloudSecret(keys, MOUNT, "secret key", text),
    ],
    [
      "kubernetes 0c5b2a9d-e1f0-83a4-a1b2-000000000001 reviewer https://10.0.0.1:6443",
      (text: string) => openReviewer(keys, MOUNT, { host: HOST, sealedReviewer: text }),
    ],
    [
      'jwt 0c5b2a9d-e1f0-83a4-a1b2-000000000001 client ["https://login.example.com","grove"]',
      (text: string) => openClientSecret(keys, MOUNT, { ...CLIENT, sealedClientSecret: text }),
    ],
  ])("opens with the context %s", async (context, open) => {
    expect(await open(toBase64(await sealText(keys, context, "swordfish")))).toBe("swordfish");
    await expect(open(toBase64(await sealText(keys, `${context} `, "swordfish")))).rejects.toThrow("does not open");
    await expect(open("not base64!")).rejects.toThrow("does not open");
  });

  it("opens for its mount and purpose alone", async () => {
    const cloud = await sealCloudSecret(keys, MOUNT, "tag", "swordfish");
    expect(await openCloudSecret(keys, MOUNT, "tag", cloud)).toBe("swordfish");
    await expect(openCloudSecret(keys, OTHER, "tag", cloud)).rejects.toThrow("does not open");
    await expect(openCloudSecret(keys, MOUNT, "other", cloud)).rejects.toThrow("does not open");
    const sealedReviewer = await sealReviewer(keys, [MOUNT, HOST], "swordfish");
    expect(await openReviewer(keys, MOUNT, { host: HOST, sealedReviewer })).toBe("swordfish");
    await expect(openReviewer(keys, MOUNT, { host: "https://evil.example", sealedReviewer })).rejects.toThrow();
    expect(await openReviewer(keys, MOUNT, { host: HOST, sealedReviewer: null })).toBe(null);
    const sealedClientSecret = await sealClientSecret(keys, MOUNT, CLIENT, "swordfish");
    expect(await openClientSecret(keys, MOUNT, { ...CLIENT, sealedClientSecret })).toBe("swordfish");
    const moved = { ...CLIENT, discoveryUrl: "https://evil.example", sealedClientSecret };
    await expect(openClientSecret(keys, MOUNT, moved)).rejects.toThrow("does not open");
    expect(await openClientSecret(keys, MOUNT, CLIENT)).toBe(null);
  });

  it("is found in the JSON of its setting, for rotations of the keys", () => {
    const [one, two] = [Uint8Array.of(1), Uint8Array.of(2)];
    const json = JSON.stringify({
      sealedSecretKey: toBase64(one),
      sealedTagKey: toBase64(two),
      sealedReviewer: toBase64(one),
      sealedClientSecret: toBase64(two),
    });
    expect(cloudSecretsIn(json)).toEqual([one, two]);
    expect(sealedReviewerIn(json)).toEqual([one]);
    expect(clientSecretIn(json)).toEqual([two]);
    for (const none of ["null", "[]", '"text"', '{"sealedSecretKey": null}', '{"sealedSecretKey": "*"}']) {
      expect(cloudSecretsIn(none)).toEqual([]);
    }
  });
});
