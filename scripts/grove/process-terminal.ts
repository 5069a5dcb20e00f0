import { createInterface } from "node:readline/promises";
import { type Terminal, wantsColours } from "./terminal.ts";

/** The terminal, or the pipes, that this process was started with. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  // A reader that has seen enough, such as head, is no fault.
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
  const interactive = stdin.isTTY === true && stderr.isTTY === true;
  return {
    colours: wantsColours(process.env, stdout.isTTY === true),
    interactive,
    out: (line) => void stdout.write(`${line}\n`),
    say: (line) => void stderr.write(`${line}\n`),
    progress: (line) => {
      // Into a file it would be a line for every step.
      if (stderr.isTTY) stderr.write(line === null ? "\r\u001b[K" : `\r\u001b[K${line}`);
    },
    ask: async (question) => {
      const lines = createInterface({ input: stdin, output: stderr });
      try {
        return await lines.question(question);
      } finally {
        lines.close();
      }
    },
  };
}
