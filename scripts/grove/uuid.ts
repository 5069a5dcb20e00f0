/** The pattern of a UUID, in either case. */
export const UUID_PATTERN = String.raw`[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}`;

/** A text that is a UUID, in either case. */
export const UUID = new RegExp(`^${UUID_PATTERN}$`);
