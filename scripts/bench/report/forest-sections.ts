import type { ConsoleReport } from "../cases/console.ts";
import type { Ending } from "../cases/ending.ts";
import type { ForestReport } from "../cases/forest.ts";
import { amount, windowsText } from "./numbers.ts";
import type { Section } from "./sections.ts";

/** What operators ask, at each size of the forest. */
export function forestSection(forests: readonly ForestReport[]): Section {
  const questions = forests[0]?.questions ?? [];
  return {
    name: "forest",
    part: "forest",
    title: "Questions about a forest",
    header: [
      "question",
      ...forests.flatMap(({ trees, tokens }) => [
        `${amount(tokens)} tokens in ${amount(trees)} trees: ms (worst)`,
        `rows read at ${amount(tokens)}`,
      ]),
    ],
    rows: questions.map(({ question }) => [
      question,
      ...forests.flatMap((forest) => {
        const asked = forest.questions.find((other) => other.question === question);
        return asked ? [`${amount(asked.median)} (${amount(asked.worst)})`, amount(asked.rowsRead)] : ["", ""];
      }),
    ]),
  };
}

/** A bulk revocation with a kill in the middle. */
export function bulkSection(forests: readonly ForestReport[]): Section {
  return {
    name: "bulk-revocation",
    part: "forest",
    title: "Bulk revocation with a kill in the middle",
    header: [
      "forest",
      "meant",
      "ended when killed",
      "seconds in all",
      "revoked by name",
      "ended with one above",
      "left",
      "wrongly alive, dead",
    ],
    rows: forests.map(({ tokens, revocation }) => [
      amount(tokens),
      amount(revocation.expected),
      amount(revocation.killedAt),
      amount(revocation.seconds),
      amount(revocation.revoked),
      amount(revocation.endedBefore),
      amount(revocation.remaining),
      `${amount(revocation.wronglyAlive)}, ${amount(revocation.wronglyDead)}`,
    ]),
  };
}

/** Many tokens that were ended by one call. */
export function endingSection(endings: readonly Ending[]): Section {
  return {
    name: "ending",
    part: "ending",
    title: "Ending all tokens of a mount at once",
    header: [
      "ended by",
      "tokens",
      "trees",
      "ms",
      "a leaf: ms (worst)",
      "asked for",
      "accepted before",
      "right after",
      "look-ups: p99 before, ms (worst)",
      "during",
      "off the lists after, s",
      "tokens/s",
    ],
    rows: endings.map((ending) => [
      ending.by === "mount" ? "disabling the mount" : "revoke-prefix",
      amount(ending.tokens),
      amount(ending.trees),
      amount(ending.ms),
      `${amount(ending.leafMs)} (${amount(ending.leafWorstMs)})`,
      amount(ending.probes),
      amount(ending.acceptedBefore),
      amount(ending.acceptedAfter),
      windowsText(ending.lookUps.before),
      windowsText(ending.lookUps.during),
      ending.cleanAfterSeconds === null ? `> ${amount(ending.watchedSeconds)}` : amount(ending.cleanAfterSeconds),
      amount(ending.gone / ending.watchedSeconds),
    ]),
  };
}

/** How long a person waits for the console. */
export function consoleSection(consoles: readonly ConsoleReport[]): Section {
  const steps = consoles[0]?.steps ?? [];
  return {
    name: "console",
    part: "console",
    title: "The console",
    header: [
      "step",
      ...consoles.map(({ trees, tokens }) => `${amount(tokens)} tokens in ${amount(trees)} trees: ms (worst)`),
    ],
    rows: steps.map(({ step }) => [
      step,
      ...consoles.map((one) => {
        const taken = one.steps.find((other) => other.step === step);
        return taken ? `${amount(taken.median)} (${amount(taken.worst)})` : "";
      }),
    ]),
  };
}
