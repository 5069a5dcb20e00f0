import { helpAsCalled } from "../../local/command-line.ts";
import { optionsInHelp } from "../../local/help-options.ts";
import type { GroveCommand } from "../arguments.ts";
import {
  COMMAND_NAMES,
  type CommandName,
  commandEntry,
  EVERYWHERE,
  type OptionEntry,
  optionsOf,
} from "../command-table.ts";

type Shell = Extract<GroveCommand, { kind: "completion" }>["shell"];

/** What a word or the value of an option is completed with. "none": a free text. */
type Completed =
  | { readonly kind: "files" | "directories" | "none" }
  | { readonly kind: "words"; readonly words: readonly string[]; readonly several: boolean };

/** A command with its options and words. Options are without dashes, and have null when they take no value. */
interface Completions {
  readonly name: string;
  readonly about: string;
  readonly options: readonly { readonly name: string; readonly about: string; readonly value: Completed | null }[];
  readonly word: Completed;
  /** Completions of the second word, by the first word of the command. */
  readonly parts: Readonly<Record<string, Completed>>;
}

/**
 * The script that makes a shell complete the commands of grove, their words, options and values.
 *
 * @param programs helps of the programs that the binary runs besides the commands, by name.
 */
export function completionScript(shell: Shell, programs: Readonly<Record<string, string>>): string {
  const others = Object.entries(programs).map(([name, help]) => ofProgram(name, help));
  const names = [...COMMAND_NAMES, ...Object.keys(programs)];
  return SCRIPTS[shell]([...COMMAND_NAMES.map((name) => completionsOf(name, names)), ...others]);
}

/** The completions of a program, read from its help. */
function ofProgram(name: string, help: string): Completions {
  const listed = optionsInHelp(help);
  const everywhere = Object.entries(EVERYWHERE)
    .filter(([option]) => option !== "json" && !listed.some((one) => one.name === option))
    .map(([option, { about }]) => ({ name: option, value: null, about }));
  const options = [...listed, ...everywhere].map(({ value, ...option }) => ({
    ...option,
    value: value === null ? null : ofName(value),
  }));
  const [, word] = new RegExp(`^Usage: grove ${name} ([A-Z]+)$`, "m").exec(help) ?? [];
  return { name, about: "a program (--help)", options, word: ofName(word), parts: {} };
}

const FILES = { kind: "files" } as const;

/** @param names all commands and programs. */
function completionsOf(name: CommandName, names: readonly string[]): Completions {
  const options = Object.entries(optionsOf(name)).map(([option, entry]) => ({
    ...{ name: option, about: entry.about },
    value: entry.value === undefined ? null : completedBy(entry),
  }));
  const { about, parts = {} } = commandEntry(name);
  const followed = Object.keys(parts).map((part) => part.split(" "));
  return {
    ...{ name, about, options, word: name === "help" ? words(names) : wordOf(name) },
    parts: Object.fromEntries(followed.map(([word = "", next]) => [word, ofName(next)])),
  };
}

function completedBy({ value, values, several, orNow }: OptionEntry): Completed {
  if (values) return { kind: "words", words: values, several: several ?? false };
  if (orNow) return words(["now"]);
  return ofName(value);
}

function wordOf(name: CommandName): Completed {
  const { word, words: known, parts } = commandEntry(name);
  if (known) return words(known);
  if (parts) return words(Object.keys(parts).map((part) => part.split(" ")[0] ?? part));
  return ofName(word);
}

const words = (all: readonly string[]): Completed => ({ kind: "words", words: all, several: false });

const ofName = (name: string | undefined): Completed =>
  name === "FILE" ? FILES : { kind: name === "DIR" ? "directories" : "none" };

const SCRIPTS: Readonly<Record<Shell, (commands: readonly Completions[]) => string>> = {
  bash: (commands) => `# grove completion bash >> ~/.bashrc
_grove() {
  local IFS=$' \\t\\n' current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command="" at
  # Bash takes --name=value for three words.
  if [ "$current" = = ]; then current=""
  elif [ "$before" = = ]; then before="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in -*) ;; *) command="\${COMP_WORDS[at]}"; break ;; esac
  done
  COMPREPLY=()
  case "$command $before" in
${cases(commands, (completed) => BASH[completed.kind](completed))}
  esac
  case "$command $current" in
    " "*) _grove_words "${namesOf(commands)}" ;;
${commands.map(({ name, options, word }) => `    "${name} -"*) _grove_words "${dashed(options)}" ;;\n    "${name} "*) ${BASH[word.kind](word)} ;;`).join("\n")}
  esac
}
_grove_words() { COMPREPLY=($(compgen -W "$1" -- "$current")); case "$COMPREPLY" in *.) compopt -o nospace 2>/dev/null ;; esac; }
_grove_list() {
  local first=""
  case "$current" in *,*) first="\${current%,*}," ;; esac
  COMPREPLY=($(compgen -P "$first" -W "$1" -- "\${current##*,}"))
}
_grove_paths() { local IFS=$'\\n'; COMPREPLY=($(compgen "$1" -- "$current")); compopt -o filenames 2>/dev/null; }
complete -F _grove grove
`,
  zsh: (commands) => `#compdef grove
# grove completion zsh > a file _grove in a folder of $fpath
_grove() {
  local command="" word before="$words[CURRENT-1]"
  for word in "\${(@)words[2,CURRENT-1]}"; do [[ $word == -* ]] || { command=$word; break; }; done
  if compset -P '--*='; then before="\${words[CURRENT]%%=*}"; fi
  case "$command $before" in
${cases(commands, (completed) => ZSH[completed.kind](completed))}
  esac
  case "$command $PREFIX" in
    " "*) compadd -- ${namesOf(commands)} ;;
${commands.map(({ name, options, word }) => `    "${name} -"*) compadd -- ${dashed(options)} ;;\n    "${name} "*) ${ZSH[word.kind](word)} ;;`).join("\n")}
  esac
}
if [ "$funcstack[1]" = _grove ]; then _grove "$@"; else compdef _grove grove; fi
`,
  fish: (commands) =>
    [
      "# grove completion fish > ~/.config/fish/completions/grove.fish",
      "complete -c grove -f",
      // The first word that is no option is the command: a later word may be a name or a path that is spelled like a
      // command.
      "function __grove_command; for word in (commandline -opc)[2..]; string match -q -- '-*' $word; or begin; echo $word; return 0; end; end; return 1; end",
      'function __grove_is; test "$(__grove_command)" = $argv[1]; end',
      "function __grove_after; test (commandline -opc)[-1] = $argv[1]; end",
      ...commands.flatMap(({ name, about, options, word, parts }) => {
        const when = (condition: string) => `complete -c grove -n "${condition}"`;
        const following = [
          [`__grove_is ${name}`, word] as const,
          ...Object.entries(parts).map(
            ([part, next]) => [`__grove_is ${name}; and __grove_after ${part}`, next] as const,
          ),
        ];
        return [
          `complete -c grove -n "not __grove_command >/dev/null" -a ${name} -d ${quoted(about)}`,
          ...following.flatMap(([condition, next]) =>
            next.kind === "none" ? [] : [`${when(condition)} ${FISH[next.kind](next)}`],
          ),
          ...options.flatMap(({ name: option, about: what, value }) => [
            [
              when(`__grove_is ${name}`),
              `-l ${option}`,
              ...(value ? ["-r", FISH[value.kind](value)] : []),
              "-d",
              quoted(what),
            ].join(" "),
            ...dashedValues(value).map(
              (one) => `${when(`__grove_is ${name}; and __grove_after --${option}`)} -a ${one}`,
            ),
          ]),
        ];
      }),
      "",
    ].join("\n"),
};

/** Values that begin with a dash, which fish takes for options while they are typed, so it does not complete them. */
const dashedValues = (value: Completed | null): readonly string[] =>
  value?.kind === "words" ? value.words.filter((word) => word.startsWith("-")) : [];

type Written = Readonly<Record<Completed["kind"], (completed: Completed) => string>>;

const wordsOf = (completed: Completed): string => (completed.kind === "words" ? completed.words.join(" ") : "");
const isList = (completed: Completed): boolean => completed.kind === "words" && completed.several;

const BASH: Written = {
  words: (completed) => `${isList(completed) ? "_grove_list" : "_grove_words"} "${wordsOf(completed)}"`,
  files: () => "_grove_paths -f",
  directories: () => "_grove_paths -d",
  none: () => ":",
};

const ZSH: Written = {
  words: (completed) => {
    const all = completed.kind === "words" ? completed.words : [];
    const begun = all.filter((word) => word.endsWith("."));
    // No space follows an incomplete word.
    return [
      ...(isList(completed) ? ["compset -P '*,'"] : []),
      `compadd -- ${all.filter((word) => !begun.includes(word)).join(" ")}`,
      ...(begun.length > 0 ? [`compadd -S '' -- ${begun.join(" ")}`] : []),
    ].join("; ");
  },
  files: () => "_files",
  directories: () => "_files -/",
  none: () => ":",
};

const FISH: Written = {
  words: (completed) =>
    isList(completed) ? `-f -a "(__fish_append , ${wordsOf(completed)})"` : `-f -a "${wordsOf(completed)}"`,
  files: () => "-F",
  directories: () => '-f -a "(__fish_complete_directories)"',
  none: () => "-f",
};

const namesOf = (commands: readonly Completions[]): string => commands.map(({ name }) => name).join(" ");
const dashed = (options: Completions["options"]): string => options.map(({ name }) => `--${name}`).join(" ");

/** The completions after an option with a value, or after a word of the command. */
function cases(commands: readonly Completions[], body: (completed: Completed) => string): string {
  return commands
    .flatMap(({ name, options, parts }) => {
      const followed = options.flatMap(({ name: option, value }) => (value ? [[`--${option}`, value] as const] : []));
      return [...followed, ...Object.entries(parts)].map(
        ([before, completed]) => `    "${name} ${before}") ${body(completed)}; return ;;`,
      );
    })
    .join("\n");
}

const MAX_ABOUT = 60;

/** The beginning of a description, quoted for fish. */
function quoted(about: string): string {
  const named = helpAsCalled(about);
  const text = named.length > MAX_ABOUT ? `${named.slice(0, named.lastIndexOf(" ", MAX_ABOUT))} …` : named;
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
