import { BACKUPS } from "./backups.ts";
import { CHOSEN_NAMES } from "./chosen-names.ts";
import { EXPLANATIONS } from "./explanations.ts";
import { FIRST_REVIEW } from "./first-review.ts";
import { FORGED_STORAGE } from "./forged-storage.ts";
import { JWT_NAMES } from "./jwt-names.ts";
import { SECOND_REVIEW } from "./second-review.ts";
import { SPELLED_PATHS } from "./spelled-paths.ts";
import { STORAGE_WRITER } from "./storage-writer.ts";
import { Subject } from "./subject.ts";
import { UNREAD_ANSWERS } from "./unread-answers.ts";

/**
 * Starts a server like `npm run serve`, and repeats attacks that once succeeded in security reviews. Prints the result
 * of each. The exit code is 1 if an attack succeeds.
 */
const subject = await Subject.start();
let broken = 0;
try {
  const checks = {
    ...FIRST_REVIEW,
    ...SECOND_REVIEW,
    ...STORAGE_WRITER,
    ...FORGED_STORAGE,
    ...CHOSEN_NAMES,
    ...JWT_NAMES,
    ...BACKUPS,
    ...EXPLANATIONS,
    ...UNREAD_ANSWERS,
    ...SPELLED_PATHS,
  };
  for (const [name, attack] of Object.entries(checks)) {
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
  await subject.stop();
}
process.exitCode = broken > 0 ? 1 : 0;
