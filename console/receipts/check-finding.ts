import type { EndedCheck } from "../../client/answers.d.ts";
import { count, counted } from "../format.ts";

/** What the trees of ended tokens answered, in words. */
export interface CheckFinding {
  readonly tone: "bad" | "warn" | "good";
  readonly title: string;
  /** More about it; "" when the title says all. */
  readonly text: string;
}

/**
 * @param total tokens that ended
 * @param isLeast true when more than `total` ended
 * @param goesOn true while the clean-up names more of them
 */
export function checkFinding(
  { checked, ended, alive, next }: Pick<EndedCheck, "checked" | "ended" | "alive" | "next">,
  total: number,
  isLeast: boolean,
  goesOn = false,
): CheckFinding {
  if (alive.length > 0)
    return { tone: "bad", title: `${counted(alive.length, "token")} of ${count(checked)} can be used`, text: "" };
  if (checked === 0 && next === "") {
    return {
      tone: "warn",
      title: "None of them is named, so none was checked",
      text: "An ended token is named once the clean-up has come to it, and for as long as its end is kept.",
    };
  }
  if (isLeast && ended >= total && next === "") {
    const named = goesOn ? "All that the clean-up has named so far can no longer be used" : "All of these are refused";
    const title = `${named}: ${counted(ended, "token")}`;
    return { tone: "good", title, text: "" };
  }
  if (!isLeast && ended >= total)
    return { tone: "good", title: `All of these are refused: ${count(ended)} of ${count(total)}`, text: "" };
  return {
    tone: "warn",
    title: `${count(ended)} of ${count(total)} are refused; the others were not checked`,
    text:
      next === ""
        ? "They are not named any more, or not yet."
        : "This page checks so many at once; sys/tokens/verify-ended goes on.",
  };
}
