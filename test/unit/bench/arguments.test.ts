import { describe, expect, it } from "vitest";
import { CASES, parseBenchArguments } from "../../../scripts/bench/arguments.ts";

function parse(...argv: string[]) {
  const command = parseBenchArguments(argv);
  if (!command.ok || command.value.kind !== "run") throw new Error("the command line is not taken");
  return command.value;
}

describe("npm run bench", () => {
  it("runs everything by default", () => {
    const command = parse();
    expect(command.cases).toEqual(CASES);
    expect(command.operations).toContain("gateway");
    expect(command).toMatchObject({ rounds: 5, against: null, json: false, write: false });
  });

  it("runs parts, or single operations", () => {
    expect(parse("--only", "cost,cascade").cases).toEqual(["cascade", "cost"]);
    expect(parse("--only", "lookup,renew")).toMatchObject({ cases: ["operations"], operations: ["lookup", "renew"] });
    expect(parse("--only", "operations,load").operations).toContain("renew");
  });

  it("writes whole parts", () => {
    expect(parse("--only", "operations,files", "--write")).toMatchObject({
      cases: ["operations", "files"],
      write: true,
    });
  });

  it("is short when asked to be quick, unless told otherwise", () => {
    expect(parse("--quick")).toMatchObject({ rounds: 2, seconds: 0.5 });
    expect(parse("--quick", "--rounds", "9")).toMatchObject({ rounds: 9, seconds: 0.5 });
  });

  it("takes another server with its token", () => {
    expect(parse("--against", "http://127.0.0.1:8300", "root", "--json").against).toEqual({
      url: "http://127.0.0.1:8300",
      place: { kind: "tcp", host: "127.0.0.1", port: 8300, tls: false },
      token: "root",
      pid: null,
    });
    const own = String(process.pid);
    expect(parse("--against", "http://127.0.0.1:8300", "root", "--pid", own).against).toMatchObject({
      pid: process.pid,
    });
  });

  it.each([
    [["--only", "everything"], "--only"],
    [["--rounds", "0"], "--rounds"],
    [["--rounds", "1.5"], "--rounds"],
    [["--seconds", ""], "--seconds"],
    [["--load-seconds", "x"], "--load-seconds"],
    [["--against", "http://127.0.0.1:1"], "--against"],
    [["--against", "127.0.0.1", "t"], "http://"],
    [["--against", "http://127.0.0.1:1", "t", "--pid", "self"], "--pid"],
    [["--pid", "1"], "--pid"],
    [["--only", "cost", "--against", "http://127.0.0.1:1", "t"], "--against"],
    [["--quick", "--write"], "--write"],
    [["--only", "lookup,cost", "--write"], "--write"],
    [["stray"], "stray"],
    [["--wrong"], "--wrong"],
  ])("refuses %j", (argv, named) => {
    const command = parseBenchArguments(argv);
    expect(command.ok).toBe(false);
    expect(!command.ok && command.error).toContain(named);
  });

  it("shows help", () => {
    expect(parseBenchArguments(["--help"])).toEqual({ ok: true, value: { kind: "help" } });
  });
});
