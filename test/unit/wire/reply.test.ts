import { describe, expect, it } from "vitest";
import { accessorInside, answerOfValue, valueOfAnswer } from "../../../src/wire/reply.ts";

describe("an answer that is stored for unwrapping", () => {
  it.each([200, 202])("comes back as it was, with status %i", (status) => {
    const answer = { status, text: '{"data":{"a":"b"}}\n' };
    expect(answerOfValue(valueOfAnswer(answer))).toEqual(answer);
  });

  it("is one text for clients that read it from the cubbyhole, unless its status is not 200", () => {
    expect(valueOfAnswer({ status: 200, text: "{}" })).toEqual({ response: "{}" });
    expect(valueOfAnswer({ status: 202, text: "{}" })).toEqual({ response: "{}", status: 202 });
  });

  it("tells the accessor of the token that it hands out", () => {
    expect(accessorInside({ status: 200, text: '{"auth":{"accessor":"x"}}' })).toBe("x");
    expect(accessorInside({ status: 200, text: '{"auth":null}' })).toBe("");
    expect(accessorInside({ status: 200, text: '{"data":{"auth":{"accessor":"x"}}}' })).toBe("");
  });
});
