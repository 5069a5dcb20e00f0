import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { InputTooLong, Interrupted, readAll, typed, typedUnseen } from "../../../../scripts/grove/terminal.ts";

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

it("an unseen answer is asked for when the echo is off", async () => {
  const happened: string[] = [];
  const setRawMode = (isRaw: boolean) => void happened.push(isRaw ? "echo off" : "echo on");
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode });
  const output = new Writable({ write: (text, _, done) => done(void happened.push(String(text))) });
  const answer = typedUnseen(input, output, "Token: ");
  input.write("s.secret\r");
  expect(await answer).toBe("s.secret");
  expect(happened).toEqual(["echo off", "Token: ", "echo on"]);
});

it("an input that is too long is not taken in part", async () => {
  const input = new PassThrough();
  input.end("x".repeat(2 ** 20 + 1));
  await expect(readAll(input)).rejects.toBeInstanceOf(InputTooLong);
  const whole = new PassThrough();
  whole.end("one\ntwo");
  expect(await readAll(whole)).toBe("one\ntwo");
});

describe("the commands of grove as programs", () => {
  const program = join(import.meta.dirname, "../../../../scripts/grove.ts");

  it("refuse to find nothing in a compressed file, and end with 1", () => {
    const input = gzipSync("a log\nVAULT_TOKEN=s.secret\n".repeat(99));
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, "find"], { input, encoding: "utf8" });
    const message = "grove: this is a compressed file: unpack it, and give what is in it\n";
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: "", stderr: message });
  });

  it.runIf(existsSync("/dev/full"))("say that standard output can't be written, and end with 1", () => {
    const full = openSync("/dev/full", "w");
    const { status, stderr } = spawnSync(process.execPath, [program, "version"], {
      stdio: ["ignore", full, "pipe"],
      encoding: "utf8",
    });
    closeSync(full);
    expect({ status, stderr }).toEqual({ status: 1, stderr: "standard output can't be written: no space is left\n" });
  });

  it.each([
    [[], "commands"],
    [["toekns"], "commands"],
    [["tokens", "--rolle"], "options"],
  ])("say of %j that the help lists the %s", (words, listed) => {
    const { stderr } = spawnSync(process.execPath, [program, ...words], { encoding: "utf8" });
    expect(stderr.trimEnd().split("\n").at(-1)).toBe(`grove: --help lists the ${listed}`);
  });

  it("init of a file that is not there asks no server, and ends with 1", () => {
    const environment = { ...process.env, VAULT_ADDR: "http://127.0.0.1:1", VAULT_TOKEN: "" };
    const { status, stderr } = spawnSync(process.execPath, [program, "init", "/nonexist"], {
      env: environment,
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: "grove: /nonexist: there is no such file or directory\n",
    });
  });
});
