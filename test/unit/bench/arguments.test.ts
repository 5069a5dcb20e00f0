import { describe, expect, it } from "vitest";
import { CASES, parseBenchArguments } from "../../../bench/arguments.ts";

function parse(...argv: string[]) {
  const command = parseBenchArguments(argv);
  if (!command.ok) throw new Error("the command line is not taken");
  return command.value;
}

describe("npm run bench", () => {
  it("runs everything by default", () => {
    expect(parse()).toMatchObject({
      cases: CASES,
      rounds: 3,
      tokens: [100_000, 1_000_000],
      against: null,
      write: false,
    });
  });

  it("runs the cases that are named, in its own order, and notes how", () => {
    const command = parse("--only", "load,operations", "--load-seconds", "600", "--write");
    expect(command).toMatchObject({ cases: ["operations", "load"], loadSeconds: 600, write: true });
    expect(command.options).toContain("--load-seconds 600");
  });

  it("is short with --quick, except for what is set explicitly", () => {
    expect(parse("--quick")).toMatchObject({ rounds: 1, seconds: 1, tokens: [2000] });
    expect(parse("--quick", "--rounds", "9")).toMatchObject({ rounds: 9, seconds: 1 });
  });

  it("takes another server with its process", () => {
    const other = parse("--against", "http://127.0.0.1:8300", "--pid", "42");
    expect(other.against).toEqual({ url: "http://127.0.0.1:8300", pid: 42 });
  });

  it("takes the other server again with an audit device, and a checkout of an earlier commit", () => {
    const peers = parse("--audited", "http://127.0.0.1:8301", "--audited-pid", "43", "--before", "../earlier");
    expect(peers).toMatchObject({ audited: { url: "http://127.0.0.1:8301", pid: 43 }, before: "../earlier" });
  });

  it("takes several numbers of tokens", () => {
    expect(parse("--tokens", "2000,50000")).toMatchObject({ tokens: [2000, 50_000] });
  });

  it.each([
    [["--only", "everything"], "--only"],
    [["--rounds", "0"], "--rounds"],
    [["--rounds", "1.5"], "--rounds"],
    [["--seconds", "x"], "--seconds"],
    [["--load-seconds", ""], "--load-seconds"],
    [["--tokens", "100"], "--tokens"],
    [["--tokens", "2000,many"], "--tokens"],
    [["--against", "http://127.0.0.1:1"], "--pid"],
    [["--against", "127.0.0.1", "--pid", "1"], "http://"],
    [["--against", "http://127.0.0.1:1", "--pid", "self"], "--pid"],
    [["--pid", "1"], "--against"],
    [["--audited", "http://127.0.0.1:1"], "--audited-pid"],
    [["--quick", "--write"], "--write"],
    [["stray"], "stray"],
    [["--wrong"], "--wrong"],
  ])("refuses %j", (argv, named) => {
    const command = parseBenchArguments(argv);
    expect(command.ok).toBe(false);
    expect(!command.ok && command.error).toContain(named);
  });
});
