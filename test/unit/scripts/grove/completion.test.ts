import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMMAND_NAMES, COMMANDS, commandEntry, optionsOf } from "../../../../scripts/grove/command-table.ts";
import { completionScript } from "../../../../scripts/grove/commands/completion.ts";
import { PROGRAMS } from "../../../../scripts/local/command-line.ts";
import { PROGRAM_HELPS } from "../../../../scripts/program-helps.ts";
import { SERVE_OPTIONS } from "../../../../scripts/serve/arguments.ts";

describe.each(COMMANDS.completion.words)("the completion for %s", (shell) => {
  const script = completionScript(shell, PROGRAM_HELPS);

  it.each(COMMAND_NAMES)("has what the help says of %s", (name) => {
    const { words = [], parts = {} } = commandEntry(name);
    const known = [name, ...words, ...Object.keys(parts).map((part) => part.split(" ")[0] ?? "")];
    for (const word of known) expect(script).toMatch(new RegExp(`(^|[ "])${word}([ ")]|$)`, "m"));
    for (const [option, { values = [] }] of Object.entries(optionsOf(name))) {
      const ofCommand = script.split("\n").filter((line) => line.includes(name));
      expect(ofCommand.join("\n")).toContain(shell === "fish" ? `-l ${option} ` : `--${option}`);
      for (const value of values) expect(ofCommand.join("\n")).toContain(value);
    }
  });

  it("has the programs of the binary", () => {
    for (const program of PROGRAMS) expect(script).toContain(program);
    expect(completionScript(shell, {})).not.toContain("serve ");
  });

  it("has the options that the help of a program lists", () => {
    const lines = script.split("\n").filter((line) => line.includes("serve"));
    for (const option of [...Object.keys(SERVE_OPTIONS), "help", "version"])
      expect(lines.join("\n")).toMatch(new RegExp(shell === "fish" ? `-l ${option} ` : `--${option}[ "]`));
  });
});

describe("in bash", () => {
  const directory = mkdtempSync(join(tmpdir(), "grove-completion-"));
  const script = join(directory, "grove.bash");
  beforeAll(() => {
    writeFileSync(script, completionScript("bash", PROGRAM_HELPS));
    mkdirSync(join(directory, "backups of today"));
    writeFileSync(join(directory, "start.hcl"), "");
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  /** What the last of these words, as bash divides them, is completed with. */
  function completed(...words: readonly string[]): string[] {
    const call =
      '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _grove 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"';
    const printed = execFileSync("bash", ["-c", call, "bash", script, "grove", ...words], {
      cwd: directory,
      encoding: "utf8",
    });
    return printed.split("\n").filter((line) => line !== "");
  }

  it.each([
    [[""], [...COMMAND_NAMES, ...PROGRAMS]],
    [["to"], ["tokens"]],
    [["--json", "to"], ["tokens"]],
    [["tokens", "--so"], ["--sort"]],
    [["tokens", "--json", "--li"], ["--limit"]],
    [
      ["tokens", "--sort", "-"],
      ["-created", "-end"],
    ],
    [["tokens", "--sort", "=", "e"], ["end"]],
    [
      ["tokens", "--sort", "="],
      ["created", "-created", "end", "-end"],
    ],
    [["tokens", "--count-by", "met"], ["metadata."]],
    [["tokens", "--role", "s"], []],
    [["audit", "--kind", "login,re"], ["login,refusal"]],
    [["audit", "v"], ["verify"]],
    [["audit", "archive", "b"], ["backups of today"]],
    [["restore", "--from", ""], ["backups of today"]],
    [["restore", "--issued-before", "n"], ["now"]],
    [["apply", "st"], ["start.hcl"]],
    [["completion", "z"], ["zsh"]],
    [["help", "au"], ["audit"]],
    [["help", "se"], ["serve"]],
    [["serve", "--al"], ["--allow-private-host"]],
    [["serve", "--init", "st"], ["start.hcl"]],
    [["serve", "--data", ""], ["backups of today"]],
    [["serve", "st"], []],
    [
      ["backup", "--ver"],
      ["--verify", "--version"],
    ],
    [["backup", "--to", "b"], ["backups of today"]],
    [["upgrade", "--max-age", ""], []],
    [
      ["deploy", "--"],
      ["--env", "--secrets-file", "--dry-run", "--help", "--version"],
    ],
    [["new", ""], ["backups of today"]],
    [["tree", "s"], []],
  ])("%j has %j", (words, expected) => expect(completed(...words)).toEqual(expected));
});

/** True where this machine has a shell. */
const has = (shell: string): boolean => spawnSync(shell, ["-c", "exit 0"]).status === 0;

it("tells fish of values that begin with a dash, which it takes for options", () => {
  const lines = completionScript("fish", PROGRAM_HELPS).split("\n");
  const condition = '"__grove_is tokens; and __grove_after --sort"';
  expect(lines.filter((line) => line.includes(condition))).toEqual(
    ["-created", "-end"].map((value) => `complete -c grove -n ${condition} -a ${value}`),
  );
});

describe.skipIf(!has("fish"))("in fish", () => {
  const completed = (line: string): string[] => {
    const script = `${completionScript("fish", PROGRAM_HELPS)}\ncomplete -C "${line}"`;
    const printed = execFileSync("fish", ["--no-config", "-c", script], { encoding: "utf8" });
    return printed.split("\n").flatMap((one) => one.split("\t")[0] || []);
  };

  it.each([
    ["grove to", ["tokens"]],
    ["grove --json to", ["tokens"]],
    ["grove tokens --so", ["--sort"]],
    ["grove tokens --sort -c", ["-created"]],
    ["grove tokens --sort e", ["end"]],
    ["grove tokens --count-by met", ["metadata."]],
    ["grove audit --kind login,re", ["login,refusal"]],
    ["grove audit v", ["verify"]],
    ["grove completion bash --", ["--help", "--version"]],
    // A word of a command may be spelled like another command.
    ["grove tree tokens --j", ["--json"]],
    ["grove tree tokens --so", []],
  ])("%s has %j", (line, expected) => expect(completed(line)).toEqual(expected));
});

it.skipIf(!has("zsh"))("zsh reads its script", () => {
  const { status, stderr } = spawnSync("zsh", ["-n"], {
    input: completionScript("zsh", PROGRAM_HELPS),
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});
