import { type AskServer, BatchedReads } from "./batched-reads.ts";

/** How long an answer is cached (ms): policies may change during a session. */
const FRESH_MS = 30_000;

/** The capabilities of a token by path. */
export class Capabilities extends BatchedReads<readonly string[]> {
  constructor(askServer: AskServer<readonly string[]>) {
    super(askServer, [], FRESH_MS);
  }
}
