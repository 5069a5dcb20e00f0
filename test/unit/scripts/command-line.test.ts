import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readWords, runCommand } from "../../../scripts/local/command-line.ts";
import { ok } from "../../../src/base/result.ts";

const OPTIONS = { name: { type: "string", default: "x" }, all: { type: "boolean", default: false } } as const;

describe("the words of a command line", () => {
  it("are flags with their defaults, and other words", () => {
    const read = readWords(["--all", "word"], OPTIONS, 1);
    expect(read).toMatchObject({ ok: true, value: { values: { name: "x", all: true }, positionals: ["word"] } });
  });

  it.each([
    [["--wrong"], "Unknown option '--wrong'"],
    [["word"], "Unexpected argument 'word'"],
    [["--name"], "Option '--name <value>' argument missing"],
  ])("%j are refused", (argv, error) => expect(readWords(argv, OPTIONS)).toEqual({ ok: false, error }));

  it.each(["--help", "-h"])("ask for the help with %s, whatever else there is", (word) => {
    expect(readWords(["--wrong", word], OPTIONS)).toEqual({ ok: false, error: null });
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

  it("says what is wrong with its command line and ends with 2", async () => {
    expect(await start(["--wrong"])).toBe(2);
    expect(said).toEqual(["Unknown option '--wrong'", "--help lists the options"]);
    expect(run).not.toHaveBeenCalled();
  });
});
