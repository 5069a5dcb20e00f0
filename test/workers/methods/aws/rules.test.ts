import { expect, it } from "vitest";
import { readCallerIdentity } from "../../../../src/methods/aws/answers/sts.ts";
import { newTagNonce } from "../../../../src/methods/aws/rules/role-tag.ts";
import { newTagKey, readTagValue, signRoleTag, verifyRoleTag } from "../../../../src/methods/aws/rules/tag-value.ts";

/** The rules have their tests in Node; these show that the libraries and the cryptography under them run here too. */
it("role tags verify in the Workers runtime", async () => {
  const tag = {
    nonce: newTagNonce(),
    role: "web",
    policies: ["dev"],
    maxTtlSeconds: 60,
    instanceId: null,
    allowInstanceMigration: false,
    disallowReauthentication: false,
  };
  const key = newTagKey();
  const value = await signRoleTag(tag, key);
  const read = value.ok ? readTagValue(value.value) : value;
  if (!read.ok) throw new Error("the tag does not read back");
  expect(await verifyRoleTag(read.value, key)).toEqual({ ok: true, value: tag });
  expect((await verifyRoleTag(read.value, newTagKey())).ok).toBe(false);
});

it("answers of the cloud are read in the Workers runtime", () => {
  const body = `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>
    <Arn>arn:aws:iam::123456789012:user/Bob</Arn><UserId>AIDAX</UserId><Account>123456789012</Account>
    </GetCallerIdentityResult></GetCallerIdentityResponse>`;
  const answer = { status: 200, contentType: "text/xml", body };
  expect(readCallerIdentity(answer, "aws")).toMatchObject({ ok: true, value: { uniqueId: "AIDAX" } });
  expect(readCallerIdentity({ ...answer, body: `<!DOCTYPE x>${body}` }, "aws").ok).toBe(false);
});
