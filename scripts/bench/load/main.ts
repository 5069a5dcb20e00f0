import { createInterface } from "node:readline";
import { type LoadJob, runLoad } from "./run.ts";

// A process of its own, so that nothing else that the bench does takes the load's time. One job a line of standard
// input, one result a line of standard output; ends with its input.
for await (const line of createInterface({ input: process.stdin })) {
  const result = await runLoad(JSON.parse(line) as LoadJob);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
