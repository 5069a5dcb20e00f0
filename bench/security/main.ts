import { NETWORK } from "./network.ts";
import { STORAGE } from "./storage.ts";
import { Subject } from "./subject.ts";

/**
 * Attacks a server that it starts with `npm run serve`, in ways that reviews once found to work and that need a whole server,
 * and prints what came of each. Ends with 1 when one works again. What else reviews found is held by tests: of foreign
 * pages, guesses, spellings and filters in test/workers/app and sys, of changed rows in test/workers/security and
 * storage/sealed-rows, of backups and explanations in the folders of their names.
 */
const subject = await Subject.start();
let broken = 0;
try {
  for (const [name, attack] of Object.entries({ ...NETWORK, ...STORAGE })) {
    let outcome: string;
    try {
      outcome = await attack(subject);
    } catch (error) {
      outcome = `NOT REFUSED: ${error instanceof Error ? error.message : String(error)}`;
      broken++;
    }
    console.log(`${name.padEnd(52)} ${outcome}`);
  }
} finally {
  await subject.remove();
}
process.exitCode = broken > 0 ? 1 : 0;
