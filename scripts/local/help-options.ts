/** An option of a program, as listed in its help. */
export interface ProgramOption {
  /** Without dashes. */
  readonly name: string;
  /** The name of its value; null for a flag. */
  readonly value: string | null;
  readonly about: string;
}

/** `  --name VALUE   description`, at the beginning of a line; the description may begin on the next line. */
const OPTION = /^ {2}--([a-z][a-z-]*)(?: ([^ \n]+))?(?:\s{2,}(\S.*))?$/gm;

/** The options that the help of a program lists, in its order. */
export function optionsInHelp(help: string): ProgramOption[] {
  return [...help.matchAll(OPTION)].map(([whole, name = "", value, about]) => {
    const [, next = ""] = help.slice(help.indexOf(whole) + whole.length).split("\n", 2);
    return { name, value: value ?? null, about: (about ?? next).trim() };
  });
}
