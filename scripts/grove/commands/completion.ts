import type { GroveCommand } from "../arguments.ts";

/** The commands with their options, without the dashes. */
type Commands = Readonly<Record<string, readonly string[]>>;

type Shell = Extract<GroveCommand, { kind: "completion" }>["shell"];

/** The script that makes a shell complete the commands and options of grove. */
export function completionScript(shell: Shell, commands: Commands): string {
  return SCRIPTS[shell](commands);
}

const dashed = (options: readonly string[]): string => options.map((option) => `--${option}`).join(" ");

const SCRIPTS: Readonly<Record<Shell, (commands: Commands) => string>> = {
  bash: (commands) => `# grove completion bash >> ~/.bashrc
_grove() {
  local options
  if [ "$COMP_CWORD" -eq 1 ]; then options="${Object.keys(commands).join(" ")}"
  else case "\${COMP_WORDS[1]}" in
${cases(commands, (options) => `options="${dashed(options)}"`)}
  esac; fi
  COMPREPLY=($(compgen -W "$options" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _grove grove
`,
  zsh: (commands) => `#compdef grove
# grove completion zsh > a file _grove in a folder of $fpath
_grove() {
  if (( CURRENT == 2 )); then compadd -- ${Object.keys(commands).join(" ")}
  else case "$words[2]" in
${cases(commands, (options) => `compadd -- ${dashed(options)}`)}
  esac; fi
}
if [ "$funcstack[1]" = _grove ]; then _grove "$@"; else compdef _grove grove; fi
`,
  fish: (commands) =>
    [
      "# grove completion fish > ~/.config/fish/completions/grove.fish",
      `complete -c grove -n __fish_use_subcommand -f -a "${Object.keys(commands).join(" ")}"`,
      ...Object.entries(commands).flatMap(([name, options]) =>
        options.map((option) => `complete -c grove -n "__fish_seen_subcommand_from ${name}" -l ${option}`),
      ),
      "",
    ].join("\n"),
};

function cases(commands: Commands, body: (options: readonly string[]) => string): string {
  return Object.entries(commands)
    .map(([name, options]) => `    ${name}) ${body(options)} ;;`)
    .join("\n");
}
