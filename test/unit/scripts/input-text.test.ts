import { gzipSync, zstdCompressSync } from "node:zlib";
import { expect, it } from "vitest";
import { InputCompressed, textOf } from "../../../scripts/local/input-text.ts";
import { linesIn } from "../../../scripts/local/long-lines.ts";

const TEXT = "token=s.abc\r\nü 𝄞 = x\n";

/** The bytes one by one: a character or a byte order mark may come in pieces. */
async function* bytesOf(input: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < input.length; at++) yield input.subarray(at, at + 1);
}

async function textIn(input: Buffer): Promise<string> {
  let text = "";
  for await (const piece of textOf(bytesOf(input))) text += piece;
  return text;
}

const le = (text: string): Buffer => Buffer.from(text, "utf16le");
const be = (text: string): Buffer => le(text).swap16();

it.each([
  ["UTF-8", Buffer.from(TEXT)],
  ["UTF-8 with a byte order mark", Buffer.from(`\u{feff}${TEXT}`)],
  ["UTF-16, as PowerShell writes it", le(`\u{feff}${TEXT}`)],
  ["UTF-16 without a byte order mark", le(TEXT)],
  ["UTF-16 with the high byte first", be(`\u{feff}${TEXT}`)],
  ["UTF-16 with the high byte first and no mark", be(TEXT)],
])("a text in %s is read", async (_, input) => {
  expect(await textIn(input)).toBe(TEXT);
});

it("bytes that are no text leave the text around them", async () => {
  const input = Buffer.concat([Buffer.from("one "), Buffer.from([0xff, 0, 0xfe]), Buffer.from(" two")]);
  expect(await textIn(input)).toMatch(/^one .* two$/s);
});

it.each(["", "s", "s.a", "BZhello"])("a short input is read: %j", async (text) => {
  expect(await textIn(Buffer.from(text))).toBe(text);
});

it.each([
  ["gzip", gzipSync(TEXT)],
  ["zstd", zstdCompressSync(TEXT)],
  ["bzip2", Buffer.from("BZh91AY&SY")],
  ["zip", Buffer.from("PK\u0003\u0004\u0014\u0000")],
])("a file that %s packed is refused, not searched", async (_, input) => {
  await expect(textIn(input)).rejects.toBeInstanceOf(InputCompressed);
});

it("lines of a log in UTF-16 are those of the log", async () => {
  const lines: string[] = [];
  for await (const { text } of linesIn(bytesOf(le(`\u{feff}${TEXT}`)))) lines.push(text);
  expect(lines).toEqual(["token=s.abc", "ü 𝄞 = x"]);
});
