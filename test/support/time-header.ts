/** The header by which a test gives the other isolate (`other-isolate.ts`) the time, in ms. */
export const TIME_HEADER = "X-Test-Time";
