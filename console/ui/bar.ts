export interface Bar {
  readonly key: string;
  readonly value: number;
  /** The label below the bar; "" for none. */
  readonly label: string;
  /** The bar in a sentence, for screen readers. */
  readonly text: string;
  /** The link of the bar. */
  readonly href: string;
  /** The parts of the bar, the largest first. Without parts it has one colour. */
  readonly parts: readonly { readonly hue: string; readonly value: number }[];
}
