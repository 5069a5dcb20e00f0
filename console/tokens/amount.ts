import type { TokenDetail } from "../../client/answers.d.ts";
import { counted, count as shown } from "../format.ts";

/** A number of tokens or leases; with `more`, counting stopped there. */
export type Amount = TokenDetail["descendants"];

/** `1,204`, or `10,000+` when counting stopped there. */
export const amountText = ({ count, more }: Amount): string => `${shown(count)}${more ? "+" : ""}`;

/** `8 children`; "" for none. */
export const childrenText = (children: number): string => (children > 0 ? counted(children, "child", "children") : "");

/** `56 descendants`; "" for none. */
export const descendantsText = (amount: Amount): string =>
  amount.count > 0 ? `${amountText(amount)} ${descendantsNoun(amount)}` : "";

/** The noun after the number of descendants. */
export const descendantsNoun = ({ count, more }: Amount): string =>
  count === 1 && !more ? "descendant" : "descendants";
