/**
 * SQL: a random number of 52 bits, exact as a number of JavaScript. It names a state of rows that others keep a copy of. A
 * counter would not do: an object that is restored to an earlier state and then changed counts to the same numbers again,
 * and a reader that knows such a number would take the new state for the one that it knows.
 */
export const RANDOM_REVISION = "(random() & 4503599627370495)";
