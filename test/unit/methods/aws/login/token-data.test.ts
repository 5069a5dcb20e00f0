import { describe, expect, it } from "vitest";
import { readTokenData, writeTokenData } from "../../../../../src/methods/aws/login/token-data.ts";

const INSTANCE = {
  kind: "vm",
  role: "web",
  instanceId: "i-1",
  region: "us-east-1",
  accountId: "111111111111",
  tagMaxTtl: 3600,
} as const;
const PRINCIPAL = {
  kind: "iam",
  role: "web",
  canonicalArn: "arn:aws:iam::111111111111:role/web",
  uniqueId: "AROA1",
  accountId: "111111111111",
  inferredInstanceId: "",
  inferredRegion: "",
} as const;

describe("what a token keeps of its login", () => {
  it.each([INSTANCE, { ...INSTANCE, tagMaxTtl: 0 }, PRINCIPAL])("is read as it was written: %j", (data) => {
    expect(readTokenData(writeTokenData(data))).toEqual(data);
  });

  it("is refused when a part of it is missing or is no number: a limit must not be lost", () => {
    const { tagMaxTtl: _, ...unlimited } = writeTokenData(INSTANCE);
    const { role: _role, ...unnamed } = writeTokenData(PRINCIPAL);
    const wrong = [unlimited, unnamed, { ...unlimited, tagMaxTtl: "" }, { ...unlimited, tagMaxTtl: "NaN" }];
    for (const data of [...wrong, { ...writeTokenData(INSTANCE), kind: "iam" }, {}]) {
      expect(() => readTokenData(data)).toThrow();
    }
  });
});
