import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { InputTooLong, Interrupted, readAll, typed } from "../../../../scripts/grove/terminal.ts";

/** What comes of a question when these characters are typed. */
async function answerTo(keys: string, isOver = false): Promise<string> {
  const input = new PassThrough();
  const answer = typed(input, new PassThrough().resume(), "Really? ");
  if (isOver) input.end(keys);
  else input.write(keys);
  return answer;
}

it("a question is answered with a line", async () => {
  expect(await answerTo("yes\r")).toBe("yes");
});

it.each([
  ["Ctrl-C", "y\u0003", false],
  ["Ctrl-D", "\u0004", false],
  ["the end of the input", "", true],
])("%s leaves a question without an answer", async (_, keys, isOver) => {
  await expect(answerTo(keys, isOver)).rejects.toBeInstanceOf(Interrupted);
});

it("an input that is too long is not taken in part", async () => {
  const input = new PassThrough();
  input.end("x".repeat(2 ** 20 + 1));
  await expect(readAll(input)).rejects.toBeInstanceOf(InputTooLong);
  const whole = new PassThrough();
  whole.end("one\ntwo");
  expect(await readAll(whole)).toBe("one\ntwo");
});
