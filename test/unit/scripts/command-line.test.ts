import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import project from "../../../package.json" with { type: "json" };
import { commandsAsCalled, readWords, runCommand } from "../../../scripts/local/command-line.ts";
import { ok } from "../../../src/base/result.ts";

const OPTIONS = { name: { type: "string", default: "x" }, all: { type: "boolean", default: false } } as const;

describe("a failed call of a file", () => {
  const failure = (code: string, more: object): Error =>
    Object.assign(new Error(`${code}: text of Node`), { code, ...more });

  it.each([
    [
      "a write on a full disk, which names no file",
      failure("ENOSPC", { syscall: "write" }),
      "no space is left on the disk",
    ],
    [
      "a copy to a full disk",
      failure("ENOSPC", { syscall: "copyfile", path: "/data/a", dest: "/backups/a" }),
      "/backups/a: no space is left on the disk",
    ],
    ["a missing file", failure("ENOENT", { syscall: "open", path: "/a" }), "/a: there is no such file or directory"],
    ["another one", failure("EMFILE", { syscall: "open", path: "/a" }), "EMFILE: text of Node"],
  ])("is said in words and ends with 1: %s", async (_, error, text) => {
    const said: string[] = [];
    const run = async () => {
      throw error;
    };
    expect(await runCommand(ok(null), "", (line) => void said.push(line), run)).toBe(1);
    expect(said).toEqual([text]);
  });

  it("is none of a connection", async () => {
    const error = failure("ECONNRESET", { syscall: "read" });
    const run = async () => {
      throw error;
    };
    await expect(runCommand(ok(null), "", () => {}, run)).rejects.toBe(error);
  });
});

describe("the words of a command line", () => {
  it("are flags with their defaults, and other words", () => {
    const read = readWords(["--all", "word"], OPTIONS, 1);
    expect(read).toMatchObject({ ok: true, value: { values: { name: "x", all: true }, positionals: ["word"] } });
  });

  it.each([
    [["--wrong"], "there is no option --wrong"],
    [["--nmae", "y"], "there is no option --nmae; did you mean --name?"],
    [["--versoin"], "there is no option --versoin; did you mean --version?"],
    [["-all"], "there is no option -all; did you mean --all?"],
    [["word"], 'unexpected word "word"'],
    [["--name"], "--name needs a value"],
    [["--name", "--all"], "--name needs a value before --all; one that begins with two dashes is written --name=VALUE"],
    [["--all=yes"], "--all takes no value"],
  ])("%j are refused", (argv, error) => expect(readWords(argv, OPTIONS)).toEqual({ ok: false, error }));

  it.each([
    [["--name", "-y"], "-y"],
    [["--name=--all"], "--all"],
    [["--name="], ""],
  ])("%j have a value that begins with a dash, or is empty", (argv, name) => {
    expect(readWords(argv, OPTIONS)).toMatchObject({ ok: true, value: { values: { name, all: false } } });
  });

  it("after -- are no flags", () => {
    for (const word of ["--all", "--help", "--version"])
      expect(readWords(["--", word], OPTIONS, 1)).toMatchObject({ ok: true, value: { positionals: [word] } });
  });

  it.each([
    ["--help", "help"],
    ["-h", "help"],
    ["--version", "version"],
  ])("ask with %s for something else, whatever else there is", (word, show) => {
    expect(readWords(["--wrong", word], OPTIONS)).toEqual({ ok: false, error: { show } });
  });
});

describe("a script", () => {
  const said: string[] = [];
  const run = vi.fn(async () => 7);
  const start = (argv: readonly string[]) => {
    const read = readWords(argv, OPTIONS);
    return runCommand(read.ok ? ok("command") : read, "Usage\n", (line) => said.push(line), run);
  };
  beforeEach(() => {
    said.length = 0;
    run.mockClear();
    vi.spyOn(process.stdout, "write").mockReturnValue(true);
  });
  afterEach(() => vi.restoreAllMocks());

  it("ends with the code of its work", async () => {
    expect(await start([])).toBe(7);
    expect(run).toHaveBeenCalledWith("command");
  });

  it("prints its help and ends with 0", async () => {
    expect(await start(["--help"])).toBe(0);
    expect(process.stdout.write).toHaveBeenCalledWith("Usage\n");
    expect(run).not.toHaveBeenCalled();
  });

  it("prints its release and ends with 0", async () => {
    expect(await start(["--version"])).toBe(0);
    const release = expect.stringMatching(new RegExp(`^Grove ${project.version.replaceAll(".", "\\.")}(\\+\\S+)?\n$`));
    expect(process.stdout.write).toHaveBeenCalledWith(release);
    expect(run).not.toHaveBeenCalled();
  });

  it("says what is wrong with its command line and ends with 2", async () => {
    expect(await start(["--wrong"])).toBe(2);
    expect(said).toEqual(["there is no option --wrong", "--help lists the options"]);
    expect(run).not.toHaveBeenCalled();
  });

  it("names the commands in a text of the server as they can be pasted", () => {
    const text = "See which (grove tokens --never-ends), or ask grove-setup and docs/grove x.";
    const called = "See which (npm run -s grove -- tokens --never-ends), or ask grove-setup and docs/grove x.";
    expect(commandsAsCalled(text)).toBe(called);
  });

  it("says which file can't be used and ends with 1, and throws what is a bug", async () => {
    run.mockImplementationOnce(async () => readdirSync(fileURLToPath(import.meta.url)).length);
    expect(await start([])).toBe(1);
    expect(said).toEqual([expect.stringMatching(/command-line\.test\.ts: a part of the path is no directory$/)]);
    run.mockRejectedValueOnce(new TypeError("a bug"));
    await expect(start([])).rejects.toThrow("a bug");
  });
});
