import { describe, expect, it } from "vitest";
import { HELP, optionsOfCommands } from "../../../../scripts/grove/arguments.ts";
import { helpFor } from "../../../../scripts/grove/help.ts";
import { helpAsCalled } from "../../../../scripts/local/command-line.ts";

describe("the help of grove", () => {
  it("without a command is of all", () => {
    for (const argv of [["--help"], ["-h"], ["nonsense", "--help"]]) expect(helpFor(argv)).toBe(HELP);
  });

  it.each(Object.keys(optionsOfCommands()))("of %s is of that command alone", (name) => {
    const help = helpFor([name, "--help"]);
    expect(help).toMatch(new RegExp(`^Usage: npm run -s grove -- ${name} `));
    expect(help.match(/^ {2}[a-z]\S*/gm)).toEqual([`  ${name}`]);
    expect(help).toContain("VAULT_ADDR");
  });

  it("names the words that a command takes", () => {
    expect(helpFor(["contain", "--help"])).toMatch(/^Usage: npm run -s grove -- contain \[TEXT\] \[options\]\n/);
    expect(helpFor(["why", "--help"])).toContain("grove -- why REQUEST_ID|- [options]");
  });

  it("has the filters of a command that takes them", () => {
    expect(helpFor(["tokens", "--help"])).toContain("--path-prefix PATH");
    expect(helpFor(["--json", "tree", "--help"])).not.toContain("--path-prefix PATH");
  });
});

describe("help as a program was called", () => {
  const help =
    "Usage: npm run serve -- [options]\n       npm run -s grove -- tokens\nnpm run backup (docs/cluster.md)\n";

  it.each(["/x/node_modules/.bin/grove", "/x/node_modules/@grove-tokens/grove/bin/grove.js"])(
    "names the binary of the package: %s",
    (program) => {
      const named = "Usage: grove serve [options]\n       grove tokens\ngrove backup";
      expect(helpAsCalled(help, program)).toBe(`${named} (node_modules/@grove-tokens/grove/docs/cluster.md)\n`);
    },
  );

  it("names the script of a clone", () => {
    for (const program of ["/x/scripts/serve.ts", "/x/scripts/grove.ts"])
      expect(helpAsCalled(help, program)).toBe(help);
  });
});
