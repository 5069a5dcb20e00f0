import { createInterface } from "node:readline";
import type { Child } from "./child.ts";

/** A line of addresses in the program itself, which workerd adds to each fault of the network: nothing for an operator. That of a crash has 0x. */
const STACK = /^\s*stack: \S*workerd@[0-9a-f]{4,}/;

/** True for a stack trace of the workerd program. */
export function isStackTrace(line: string): boolean {
  return STACK.test(line);
}

/** Shows what workerd says on standard error, without its stack traces. */
export function followErrors(workerd: Child, show: (line: string) => void): void {
  for (const stream of workerd.streams) {
    createInterface({ input: stream }).on("line", (line) => {
      if (!isStackTrace(line)) show(line);
    });
  }
}
