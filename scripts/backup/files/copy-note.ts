/** The file with the note of a finished copy of files. A restore leaves it beside the data. */
export const COPY_NOTE = "backup.json";
