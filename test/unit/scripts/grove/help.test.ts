import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseGroveArguments } from "../../../../scripts/grove/arguments.ts";
import { COMMAND_NAMES, commandEntry, optionsOf } from "../../../../scripts/grove/command-table.ts";
import { helpFor } from "../../../../scripts/grove/help.ts";
import { helpAsCalled, PROGRAMS } from "../../../../scripts/local/command-line.ts";

const help = (argv: readonly string[], columns: number | null = null) => helpFor(argv, { columns });
const heads = (text: string) =>
  text
    .split("\nExample:")[0]
    ?.match(/^ {2}[a-z]\S*/gm)
    ?.map((head) => head.trim());

describe("the help of grove", () => {
  it("without a command has one line for each, and fits a screen", () => {
    for (const argv of [["--help"], ["-h"], ["help"]]) {
      const list = help(argv).split("\nExamples:")[0] ?? "";
      expect(heads(list)).toEqual(COMMAND_NAMES);
      for (const name of COMMAND_NAMES) expect(list).toContain(` ${commandEntry(name).brief}`);
      expect(help(argv).split("\n").length).toBeLessThanOrEqual(44);
    }
  });

  it.each(COMMAND_NAMES)("of %s is of that command alone, with all its options", (name) => {
    const text = help(["help", name]);
    expect(text).toMatch(new RegExp(`^Usage: npm run -s grove -- ${name} `));
    expect(heads(text)).toEqual([name]);
    const shown = [...text.matchAll(/^ +--([a-z-]+)/gm)].map(([, option]) => option).sort();
    expect(shown).toEqual(Object.keys(optionsOf(name)).sort());
    for (const { about } of Object.values(optionsOf(name)))
      expect(text.replaceAll(/\s+/g, " ")).toContain(about.replaceAll(/\s+/g, " "));
    expect(text).toContain("VAULT_ADDR");
  });

  it.each(COMMAND_NAMES.filter((name) => name !== "help"))("of %s is what help says of it", (name) => {
    expect(help(["help", name])).toBe(help([name, "--help"]));
  });

  it("names the words that a command takes", () => {
    expect(help(["contain", "--help"])).toMatch(/^Usage: npm run -s grove -- contain \[TEXT\|-\] \[options\]\n/);
    expect(help(["why", "--help"])).toContain("grove -- why REQUEST_ID|- [options]");
  });

  it("has the filters and the forms of times of a command that takes them", () => {
    expect(help(["tokens", "--help"])).toContain("--path-prefix PATH");
    expect(help(["--json", "tree", "--help"])).not.toContain("--path-prefix PATH");
    for (const name of COMMAND_NAMES) {
      const hasTime = Object.values(commandEntry(name).options).some(({ time }) => time);
      expect(help(["help", name]).includes("T is a time"), name).toBe(hasTime);
    }
  });

  it("names the token, unless the command does not use it", () => {
    expect(help(["help", "tokens"])).toContain("VAULT_TOKEN the token");
    expect(help(["help", "generate-root"]).match(/VAULT_TOKEN.*/g)).toEqual([
      expect.stringMatching(/^VAULT_TOKEN is not/),
    ]);
  });

  it("of all commands has the exit codes that only some of them have", () => {
    const all = help([]).replaceAll("\n", " ");
    expect(all).toContain(
      "of apply 2 is a difference that --check found, and of find 3 a text that could not be judged",
    );
    expect(help(["help", "generate-root"]).replace(/\s+/g, " ")).toContain("it takes them from secrets.env");
  });

  it("ends with an example, which is a command line, and says what its exit codes are", () => {
    for (const name of COMMAND_NAMES) {
      const { example, codes = "0 done, 1 refused" } = commandEntry(name);
      expect(help(["help", name])).toContain(`\n\nExample:\n  npm run -s grove -- ${example}\n`);
      expect(help(["help", name]).replaceAll("\n", " ")).toContain(`Exit codes: ${codes}`);
      expect(help(["help", name])).not.toContain("something found");
      const [words = ""] = example.split(/ [<>]/);
      const read = parseGroveArguments(words.split(" "));
      expect(read.ok || typeof read.error !== "string" ? null : read.error, example).toBeNull();
      expect(words.split(" ")[0]).toBe(name);
    }
  });

  it("where it is not shown at a terminal fits 80 columns", () => {
    const lines = [["--help"], ...COMMAND_NAMES.map((name) => ["help", name])].flatMap((argv) =>
      help(argv).split("\n"),
    );
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it.each([80, 100, 160])("fits a terminal of %i columns", (columns) => {
    const lines = COMMAND_NAMES.flatMap((name) => help([name], columns).split("\n"));
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  });

  it("is named as the command was called", () => {
    const text = helpFor(["restore"], { columns: null, named: (part) => helpAsCalled(part, "/x/bin/grove.js", "") });
    expect(text).toMatch(/^Usage: grove restore \[options\]\n/);
    expect(text).toContain("(grove backup --address)");
    expect(text).not.toContain("npm run");
  });
});

describe("help as a program was called", () => {
  const written =
    "Usage: npm run serve -- [options]\n       npm run -s grove -- tokens\nnpm run backup (docs/cluster.md)\n";

  it.each(["/x/node_modules/.bin/grove", "/x/node_modules/@grove-tokens/grove/bin/grove.js"])(
    "names the binary of the package: %s",
    (program) => {
      const named = "Usage: grove serve [options]\n       grove tokens\ngrove backup";
      expect(helpAsCalled(written, program, "")).toBe(`${named} (node_modules/@grove-tokens/grove/docs/cluster.md)\n`);
    },
  );

  it("names npx, and the script of an installation, where these have called it", () => {
    const bin = "/x/node_modules/.bin/grove";
    expect(helpAsCalled(written, bin, "npx")).toMatch(
      /^Usage: npx grove serve \[options\]\n {7}npx grove tokens\nnpx grove backup /,
    );
    expect(helpAsCalled(written, bin, "serve")).toMatch(/^Usage: npm run serve -- \[options\]\n.*\n.* \(node_modules/);
  });

  it("names the script of a clone", () => {
    for (const program of ["/x/scripts/serve.ts", "/x/scripts/grove.ts"])
      expect(helpAsCalled(written, program)).toBe(written);
  });
});

it("the binary of the package names all programs and commands", () => {
  const run = (...words: readonly string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, "../../../../scripts/package/grove.js"), ...words], {
      encoding: "utf8",
    });
  const { stdout } = run("help");
  expect(run().stdout).toBe(stdout);
  const commands = COMMAND_NAMES.filter((name) => name !== "help");
  const rows = [...stdout.matchAll(/^ {2}([a-z-]+)(?: DIR)? {2,}(.+)/gm)];
  expect(rows.map(([, name]) => name)).toEqual([...PROGRAMS, ...commands]);
  const briefs = rows.slice(PROGRAMS.length).map(([, , about]) => about);
  expect(briefs).toEqual(commands.map((name) => commandEntry(name).brief));
  for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});
