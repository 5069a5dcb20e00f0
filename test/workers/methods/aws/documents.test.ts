import { expect, it } from "vitest";
import { verifyIdentity, verifyPkcs7 } from "../../../../src/methods/aws/documents/verify.ts";
import data from "../../../data/cloud/signed-documents.json";

const [first, second] = data.documents;

/** The rules have their tests in Node; this shows that the runtime's own cryptography gives the same answers. */
it("documents of the real cloud verify in the Workers runtime", async () => {
  const identity = btoa(first?.document ?? "");
  const changed = btoa((first?.document ?? "").replace("t4g.small", "t4g.large"));
  const strict = { allowSha1: false };
  expect((await verifyPkcs7(first?.rsa2048 ?? "", [], strict)).ok).toBe(true);
  expect((await verifyIdentity(identity, first?.signature ?? "", [], strict)).ok).toBe(true);
  expect((await verifyIdentity(changed, first?.signature ?? "", [], strict)).ok).toBe(false);
  expect((await verifyPkcs7(second?.pkcs7 ?? "", [], strict)).ok).toBe(false);
  expect((await verifyPkcs7(second?.pkcs7 ?? "", [], { allowSha1: true })).ok).toBe(true);
});
