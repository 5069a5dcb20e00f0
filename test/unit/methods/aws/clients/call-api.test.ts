import { expect, it } from "vitest";
import { requestOf } from "../../../../../src/methods/aws/clients/client.ts";

const KEYS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret", sessionToken: null };
const CALL = { service: "EC2", region: "eu-west-1", form: { Action: "DescribeInstances" } } as const;

it("a call goes to the path of its endpoint, and is signed for that path", async () => {
  const at = (endpoint: string) => requestOf({ ...CALL, endpoint }, KEYS, 0);
  const [bare, below] = await Promise.all([at("https://host.example"), at("https://host.example/ec2")]);
  expect([bare.url, below.url]).toEqual(["https://host.example/", "https://host.example/ec2/"]);
  expect(below.headers.authorization).not.toBe(bare.headers.authorization);
});
