import { describe, expect, it } from "vitest";
import { findRegion, iamHostOf, isPartition, regionOfStsHost } from "../../../../src/methods/aws/regions.ts";

describe("regions and hosts", () => {
  it("are found by their exact name", () => {
    expect(findRegion("eu-central-1")).toEqual({
      name: "eu-central-1",
      partition: "aws",
      stsHost: "sts.eu-central-1.amazonaws.com",
      ec2Host: "ec2.eu-central-1.amazonaws.com",
    });
    expect(findRegion("cn-north-1")).toMatchObject({ partition: "aws-cn", ec2Host: "ec2.cn-north-1.amazonaws.com.cn" });
    expect(findRegion("us-gov-east-1")).toMatchObject({ partition: "aws-us-gov" });
    expect(findRegion("eusc-de-east-1")).toMatchObject({ stsHost: "sts.eusc-de-east-1.amazonaws.eu" });
  });

  it("are nothing else", () => {
    for (const name of [
      "",
      "fake-region-1",
      "us-east-1.evil.example",
      "US-EAST-1",
      "us-east-1 ",
      "__proto__",
      "evil/",
    ]) {
      expect(findRegion(name)).toBeNull();
      expect(regionOfStsHost(name)).toBeNull();
      expect(regionOfStsHost(`sts.${name}.amazonaws.com`)).toBeNull();
    }
    expect(isPartition("toString")).toBe(false);
  });

  it("give the region that an STS host takes signatures for", () => {
    expect(regionOfStsHost("sts.amazonaws.com")).toBe("us-east-1");
    expect(regionOfStsHost("sts.cn-northwest-1.amazonaws.com.cn")).toBe("cn-northwest-1");
    expect(regionOfStsHost("sts-fips.us-west-2.amazonaws.com")).toBe("us-west-2");
    expect(regionOfStsHost("sts.cn-northwest-1.amazonaws.com")).toBeNull();
    expect(regionOfStsHost("sts.eu-west-1.api.aws")).toBe("eu-west-1");
    for (const host of ["sts.cn-north-1.api.aws", "sts.api.aws", "sts.mars-1.api.aws"])
      expect(regionOfStsHost(host)).toBeNull();
  });

  it("give one IAM host per partition", () => {
    expect(iamHostOf("aws")).toEqual({ host: "iam.amazonaws.com", signingRegion: "us-east-1" });
    expect(iamHostOf("aws-us-gov").signingRegion).toBe("us-gov-west-1");
  });
});
