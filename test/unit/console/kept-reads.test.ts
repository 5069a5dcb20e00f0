import { expect, it } from "vitest";
import { KeptRead } from "../../../console/kept-reads.ts";
import { done, failed } from "../../../console/result.ts";

const one = {};
const other = {};

it("a list is read once for ten seconds in each session, also by questions at the same time", async () => {
  let asked = 0;
  const list = new KeptRead(async () => done(++asked));
  const at = async (api: object, now: number): Promise<unknown> => {
    const answer = await list.read(api, now);
    return answer.ok ? answer.value : null;
  };
  expect(await Promise.all([at(one, 0), at(one, 0), at(other, 0)])).toEqual([1, 1, 2]);
  expect([await at(one, 9_999), await at(one, 10_000), await at(one, 10_001)]).toEqual([1, 3, 3]);
});

it("a list that could not be read is read again", async () => {
  const answers = [failed({ status: 503, messages: ["try again"], requestId: "" }), done("names")];
  const list = new KeptRead(async () => answers.shift() ?? done("none"));
  expect((await list.read(one, 0)).ok).toBe(false);
  expect(await list.read(one, 1)).toEqual(done("names"));
});
