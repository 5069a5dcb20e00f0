import { describe, expect, it } from "vitest";
import {
  translateAnswer,
  translateFieldName,
  translateMessage,
  translateMetadata,
  translateRequest,
} from "../../../../src/methods/aws/vocabulary.ts";
import aws from "../../../conformance/aws.json" with { type: "json" };
import cloud from "../../../conformance/cloud.json" with { type: "json" };

type Exchange = {
  readonly name: string;
  readonly path: string;
  readonly body?: Record<string, unknown>;
  readonly expect: { readonly body: { data?: Record<string, unknown> | null; errors?: string[] } | null };
};

/** The same exchanges, recorded from both mount types, in the same order. Those at sys/ name the type itself. */
const pairs = (cloud as Exchange[])
  .map((inner, index) => ({ name: inner.name, inner, outer: (aws as Exchange[])[index] }))
  .filter(({ inner }) => inner.path.startsWith("/auth/"));

describe("the recorded exchanges of the two mount types", () => {
  it.each(pairs)("say the same: $name", ({ inner, outer }) => {
    expect(translateRequest(outer?.body ?? {})).toEqual(inner.body ?? {});
    expect(translateAnswer(inner.expect.body?.data ?? {})).toEqual(outer?.expect.body?.data ?? {});
    const messages = (inner.expect.body?.errors ?? []).map((message) => translateMessage("aws", message));
    expect(messages).toEqual(outer?.expect.body?.errors ?? []);
  });

  it("are the same in the type cloud", () => {
    for (const { inner } of pairs) {
      for (const message of inner.expect.body?.errors ?? []) expect(translateMessage("cloud", message)).toBe(message);
    }
  });
});

describe("the vocabulary of an aws mount", () => {
  it("does not understand the other one", () => {
    const inner = translateRequest({ bound_image_id: "ami-1", auth_type: "vm" });
    expect(inner).toEqual({ bound_ami_id: "ami-1", auth_type: "ec2" });
    expect(translateFieldName("aws", "bound_ami_id")).toBe("bound_image_id");
  });

  it("names metadata, in requests, in lists and in tokens", () => {
    expect(translateRequest({ ec2_metadata: "account_id, ami_id", iam_metadata: ["inferred_aws_region"] })).toEqual({
      vm_metadata: "account_id,image_id",
      iam_metadata: ["inferred_cloud_region"],
    });
    expect(translateAnswer({ vm_metadata: ["account_id", "auth_type", "image_id"], vm_alias: "image_id" })).toEqual({
      ec2_metadata: ["account_id", "ami_id", "auth_type"],
      ec2_alias: "image_id",
    });
    expect(
      translateMetadata("aws", { auth_type: "vm", image_id: "ami-1", role: "vm", inferred_entity_type: "vm_instance" }),
    ).toEqual({ auth_type: "ec2", ami_id: "ami-1", role: "vm", inferred_entity_type: "ec2_instance" });
    expect(translateMetadata("cloud", { auth_type: "vm" })).toEqual({ auth_type: "vm" });
  });

  it("words messages, and leaves the names in them alone", () => {
    for (const [inner, outer] of [
      ["auth method vm not allowed for role my-vm", "auth method ec2 not allowed for role my-vm"],
      ["image ID does not belong to role", "AMI ID does not belong to role"],
      ["length of role tag exceeds the VM key limit", "length of role tag exceeds the EC2 key limit"],
      ['missing header "X-Service-Cloud-IAM-Server-ID"', 'missing header "X-Vault-AWS-IAM-Server-ID"'],
      ["entry for role vm not found", "entry for role vm not found"],
      ["unrecognized auth_type: ec2", "unrecognized auth_type: vm"],
      ["specified invalid inferred_entity_type: ec2_instance", "specified invalid inferred_entity_type: vm_instance"],
      ['"image_id" contains an unavailable field', '"ami_id" contains an unavailable field'],
      ["invalid cloud_public_cert; it is too long", "invalid aws_public_cert; it is too long"],
    ] as const) {
      expect(translateMessage("aws", inner)).toBe(outer);
    }
  });

  it("leaves every other field alone", () => {
    const other = { role: "ec2", policies: ["vm"], nonce: "ami_id", __proto: 1, sts_role: "ec2_alias" };
    expect(translateRequest(other)).toEqual(other);
  });
});
