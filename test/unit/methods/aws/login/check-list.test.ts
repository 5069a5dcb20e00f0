import { describe, expect, it } from "vitest";
import { ok, type Result, refuse } from "../../../../../src/base/result.ts";
import { CheckList, type CheckName } from "../../../../../src/methods/aws/login/check-list.ts";
import { checkNames, VM_ORDER } from "../../../../../src/methods/aws/login/check-order.ts";

class Recorder {
  readonly made: [name: CheckName, outcome: string][] = [];

  record<T>(name: CheckName, _: unknown, result: Result<T>): Result<T> {
    this.made.push([name, result.ok ? "passed" : "failed"]);
    return result;
  }

  assume<T>(name: CheckName, _: unknown, claim: T): Result<T> {
    this.made.push([name, "assumed"]);
    return ok(claim);
  }
}

type Start = { readonly attempt: { readonly checks: Recorder }; readonly last: number };

const rest = CheckList.of<Start & { readonly first: number }>()
  .find(({ first }) => ok({ doubled: 2 * first }))
  .check("address", ({ doubled, last }) => ({
    result: doubled <= last ? ok({ sum: doubled + 1 }) : refuse("too much"),
  }));
const list = CheckList.of<Start>()
  .check("document", () => ({ isAssumed: true, result: ok({ first: 2 }) }))
  .with(rest)
  .check("auth_type", async ({ first, sum }) => ({ result: ok({ all: first + sum }) }));

async function run(last: number) {
  const checks = new Recorder();
  const result = await list.run({ attempt: { checks }, last });
  return { result, made: checks.made };
}

describe("a list of checks", () => {
  it("makes the checks that it names, in their order, and gives each what those before it found", async () => {
    const { result, made } = await run(4);
    expect(result).toEqual(ok({ first: 2, doubled: 4, sum: 5, all: 7 }));
    expect(made.map(([name]) => name)).toEqual(list.names);
    expect(made.map(([, outcome]) => outcome)).toEqual(["assumed", "passed", "passed"]);
  });

  it("ends at the first check that fails", async () => {
    const { result, made } = await run(3);
    expect(result).toEqual(refuse("too much"));
    expect(made).toEqual([
      ["document", "assumed"],
      ["address", "failed"],
    ]);
  });
});

describe("the order of a login", () => {
  it("has no check twice, and begins with what needs no proof", () => {
    for (const [kind, proof] of [
      ["vm", "document"],
      ["iam", "caller"],
    ] as const) {
      const names = checkNames(kind, null);
      expect(new Set(names).size).toBe(names.length);
      expect(names.slice(0, 4)).toEqual(["role", "address", "auth_type", proof]);
    }
  });

  it("enters an instance after all other checks", () => {
    expect(VM_ORDER.names.at(-1)).toBe("access_list");
  });
});
