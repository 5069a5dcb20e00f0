/** True on a screen with the width of a phone. The style sheet has the same width. */
export const isNarrow = (): boolean => window.matchMedia("(max-width: 560px)").matches;

/** True on a screen that is no wider than that of a small laptop. */
export const isMedium = (): boolean => window.matchMedia("(max-width: 1200px)").matches;
